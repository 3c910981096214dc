/** What a command that cannot run here names, looked for in the command line, the manifests and the files. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions as benchOptions } from '../../../tools/bench/options.ts'
import { readOptions as soakOptions } from '../../../tools/soak/options.ts'
import { fullCommandLine } from '../../helpers/command-line.ts'
import { at, compose, exampleOf, kubernetesConfig, manifestOf, manifests, read, root } from '../deploying/files.ts'
import { productionPolicy } from '../deploying/network-policy.ts'

type Look = (...names: readonly string[]) => boolean

const packageFile = JSON.parse(read('package.json'))
const file: Look = (path) => existsSync(join(root, path ?? ''))
const everyManifest = JSON.stringify(manifests)
const kubernetesConfigs = kubernetesConfig() + kubernetesConfig('production')
// Those that the gateways mount stand in the Deployment and its patch.
const all = (pattern: RegExp, more: unknown): readonly string[] =>
  [...(everyManifest + JSON.stringify(more)).matchAll(pattern)].map(([, name = '']) => name)
const patch = exampleOf('kubernetes/overlays/production/deployment-patch.yaml')
const secrets = all(/"secret":\{"(?:secretN|n)ame":"([\w-]+)"/g, patch)
// Those of the clusters' own pods and of the overlays.
const namespaces = new Set<unknown>([
  ...all(/"kubernetes\.io\/metadata\.name":"([\w-]+)"/g, productionPolicy()),
  ...['demo', 'production'].map((name) => exampleOf(`kubernetes/overlays/${name}/kustomization.yaml`).namespace),
])

/** Says whether the command line has a command with these options; what stands for a value is passed over. */
const isUsage: Look = (words = '') => {
  const [name = '', ...rest] = words
    .replaceAll(/[[\]|]/g, ' ')
    .trim()
    .split(/\s+/)
  const top = fullCommandLine()
  if (name.startsWith('-')) return top.options.some(({ long }) => long === name) || name === '--help'
  if (/^[A-Z]+$/.test(name)) return true // COMMAND
  const command = top.commands.find((each) => each.name() === name)
  const inner = command?.commands.find((each) => each.name() === rest[0]) ?? command
  const options = [...(command?.options ?? []), ...(inner?.options ?? [])].map(({ long }) => long)
  return command !== undefined && rest.every((word) => !word.startsWith('--') || options.includes(word))
}

const parses =
  (readOptions: (args: readonly string[]) => unknown): Look =>
  (args = '') => {
    readOptions(args.trim() === '' ? [] : args.trim().split(/\s+/)) // throws with what it does not know
    return true
  }

/** What may be named, and how it is looked for. */
const kinds: readonly (readonly [name: RegExp, look: Look])[] = [
  [/(?:^|npx |-- |exec \w+ )lender-gateway ([^;#]*)/g, isUsage],
  [/lender-gateway:[\d.]+ ([a-z-][^;#]*)$/g, isUsage],
  [/node src\/lender-gateway\.js ([^;#]*)/g, isUsage],
  [/lender-gateway:([\d.]+)/g, (tag) => tag === packageFile.version],
  [/(?:^| )((?:config|docs|test|tools|src|scripts)\/[\w./-]+)/g, file],
  [/(?:^| )npx vitest run (?:--project \w+ )?(\S+)/g, file],
  [/^([A-Z_]+)=.*npx vitest run (?:--project \w+ )?(\S+)/g, (name = '', path = '') => read(path).includes(name)],
  [/npm run ([\w:]+)/g, (name = '') => name in packageFile.scripts],
  [/npm run bench(?: --(?: |$)(.*))?$/g, parses(benchOptions)],
  [/npm run soak(?: --(?: |$)(.*))?$/g, parses(soakOptions)],
  [/(?:npm) (start|test|ci)\b/g, (name = '') => name === 'ci' || name in packageFile.scripts],
  // Kubernetes
  [/\b(deployment|configmap)\/([\w-]+)/g, (kind = '', name) => nameOf(kind) === name],
  [/\bcreate (configmap) ([\w-]+)/g, (kind = '', name) => nameOf(kind) === name],
  [/ secret (?:generic )?([\w-]+)/g, (name) => secrets.includes(name ?? '')],
  [/--from-literal=([\w-]+)=/g, (key) => kubernetesConfigs.includes(`file:${key}`)],
  [/jsonpath='\{\.data\.([\w-]+)\}'/g, (key) => kubernetesConfigs.includes(`file:${key}`)],
  [/--from-file=(metrics-token)/g, (key) => kubernetesConfigs.includes(`file:${key}`)],
  [/--from-file=(users\.acl)/g, (key) => everyManifest.includes(`/etc/redis/${key}`)],
  [/(?:--namespace[ =]|create namespace )([a-z][\w-]*)/g, (name) => namespaces.has(name ?? '')],
  [/ -l ([\w./-]+)=([\w-]+)/g, (label, value) => everyManifest.includes(`"matchLabels":{"${label}":"${value}"}`)],
  [/(?:port-forward \S+ |-L )(\d+)/g, (port) => everyManifest.includes(`"containerPort":${port}`)],
  [/(?:apply|diff) -k ([\w/.-]+)/g, (folder) => file(`${folder}/kustomization.yaml`)],
  // systemd
  [/(?:systemctl|journalctl).* (lender-gateway)(?: |$)/g, (name) => file(`config/examples/systemd/${name}.service`)],
  // Docker
  [/docker compose exec ([\w-]+)/g, (service = '') => service in (at(compose, 'services') as object)],
  [/docker (build|run|exec|compose)\b/g, () => true],
]

const nameOf = (kind: string): unknown =>
  kind === 'deployment'
    ? at(manifestOf('Deployment'), 'metadata', 'name')
    : at(exampleOf('kubernetes/base/kustomization.yaml'), 'configMapGenerator', 0, 'name')

/** Lists what a command names, and whether each is there. */
export const namesIn = (text: string): readonly { readonly name: string; readonly isThere: boolean }[] =>
  kinds.flatMap(([kind, look]) =>
    [...text.matchAll(kind)].map(([whole, ...names]) => ({ name: whole.trim(), isThere: look(...names) })),
  )
