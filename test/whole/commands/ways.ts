/** How each command that the pages print is shown to work: the list that a new one has to be put into. */
import type { Printed } from '../../helpers/printed.ts'

export type Way =
  /** Run as printed in a checkout, beside a gateway: it ends by itself. */
  | { readonly how: 'run'; readonly exit: number }
  /** The same, but it goes on until it is ended: as soon as it has printed this. */
  | { readonly how: 'until'; readonly says: RegExp }
  /** Run as printed in another checkout: it starts a gateway. */
  | { readonly how: 'serve' }
  /** Run as printed by a test of its own. */
  | { readonly how: 'elsewhere'; readonly test: string }
  /** Not run: it wants a cluster, an engine or many minutes. What it names is looked for. */
  | { readonly how: 'read' }

interface Rule {
  readonly page?: string
  readonly heading?: RegExp
  readonly text?: RegExp
  readonly way: Way
}

const run = (exit: number): Way => ({ how: 'run', exit })
const read: Way = { how: 'read' }
const elsewhere = (test: string, folder = 'test/whole/deploying'): Way => ({
  how: 'elsewhere',
  test: `${folder}/${test}`,
})
const upgrade = elsewhere('upgrade.drill.ts')
const secrets = elsewhere('kubernetes-secrets.test.ts')

/** The first that is for a command holds. */
export const rules: readonly Rule[] = [
  { page: 'docs/deploying.md', heading: /^(systemd|Restarts under systemd)$/, way: upgrade },
  { page: 'docs/deploying.md', heading: /^Kubernetes$/, text: /^(?!kubectl)/, way: secrets },
  { page: 'docs/production.md', way: elsewhere('production.drill.ts') },
  { page: 'docs/audit.md', heading: /^Rotation$/, way: elsewhere('audit-rotation.drill.ts') },
  { page: 'docs/upgrading.md', text: /^(?!kubectl|for pod in )/, way: upgrade },
  { page: 'docs/contract.md', heading: /^In ten minutes/, way: elsewhere('contract.drill.ts') },
  // A run of the suite within the suite; tools/lab/fresh-clone.ts has it run.
  { text: /^npm ci && npm test$/, way: read },
  { text: /^(docker|kubectl|cd config\/examples\/compose$|for pod in )/, way: read },
  { text: /^npm run (check|format)$/, way: read },
  { text: /^openssl rand /, way: run(0) },
  { text: /^npm run (--silent sbom|licences)\b/, way: run(0) },
  { text: /^npm run (bench|soak)\b|^node tools\/bench\//, way: read },
  // It would be another file that the gateway of the other commands runs.
  { text: /^mv config\/next\.yaml config\/gateway\.yaml$/, way: elsewhere('rerouting.drill.ts') },
  { text: /^npm run test:drills$|npx vitest run /, way: read },
  { text: /^npx node tools\/lab\/at-rest\.ts /, way: read },
  { text: /^npm start -- --config /, way: elsewhere('npm-start.test.ts', 'test/core/cli') },
  { text: /^(npm ci && )?npm start\b/, way: { how: 'serve' } },
  { text: /^(npx )?lender-gateway tail (--rejected )?--since /, way: { how: 'until', says: /404 not-found/ } },
  { text: /^(npx )?lender-gateway explain HEAD /, way: run(1) },
  { text: /^(npx )?lender-gateway check --sample /, way: run(1) },
  // The gateway of the commands asks clients of this operation for a key of theirs, which the page leaves out.
  { text: /^curl -X POST http:\/\/127\.0\.0\.1:8080\/financing\/pre-approval /, way: run(22) },
  // No request had the key.
  { text: /^(npx )?lender-gateway idempotency forget /, way: run(1) },
  // It differs from what runs.
  { text: /^(npx )?lender-gateway diff config\/next\.yaml /, way: run(1) },
  // No request passes meanwhile.
  { text: /^(npx )?lender-gateway contract draft/, way: run(1) },
  { text: /^((npx )?lender-gateway|curl) /, way: run(0) },
]

/** Finds how a command is shown to work; null: it is not in the list. */
export const wayOf = (command: Printed): Way | null => rules.find((rule) => isFor(rule, command))?.way ?? null

/** Says whether a rule is for a command. */
export const isFor = ({ page, heading, text }: Rule, command: Printed): boolean =>
  (page === undefined || page === command.page) &&
  (heading === undefined || heading.test(command.heading)) &&
  (text === undefined || text.test(command.text))
