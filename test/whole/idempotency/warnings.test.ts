import { expect, test } from 'vitest'
import { parse, sandbox } from '../../core/config/helper.ts'

const key = Buffer.alloc(32).toString('base64')

const warned = (text: string) => {
  const result = parse(text)
  return result.ok ? result.warnings.map(({ path }) => path) : result.problems
}

const sentinels = 'sentinels: ["a:26379"], name: m'
const cluster = 'cluster: ["redis://a"]'
const single = 'url: "redis://r"'

// No replica has to have a key: where Redis replaces its masters, that is one to warn of.
test.each([
  ['that no operation has does nothing', '{}', single, '', ['idempotency.redis']],
  ['of one server gets none', undefined, single, '', []],
  ['of one server gets none', undefined, single, ', replicas: 0', []],
  ['that replaces its masters', undefined, sentinels, ', replicas: 0', ['idempotency.replicas']],
  ['that replaces its masters', undefined, cluster, ', replicas: 0', ['idempotency.replicas']],
  ['that replaces its masters, by default', undefined, sentinels, '', []],
  ['that replaces its masters, with replicas', undefined, cluster, ', replicas: 2', []],
])('a Redis for idempotency %s (%s, %s%s): %j', (_, operations, redis, more, paths) => {
  const store = `{ redis: { ${redis} }, encryptionKeys: ["${key}"]${more} }`
  const on = '{ financing.pre-approval: { idempotency: true } }'

  expect(warned(`${sandbox}\nidempotency: ${store}\noperations: ${operations ?? on}`)).toEqual(paths)
})

const ofOperation = 'operations.financing.pre-approval.idempotency'

test.each([
  ['share: 5%', 'forward', expect.arrayContaining([ofOperation])],
  ['steps: { shares: [5%], every: 15m }', 'forward', expect.arrayContaining([ofOperation])],
  ['clients: [bank-a]', 'forward', expect.arrayContaining([ofOperation])],
  ['balance: p2c', 'forward', []],
  ['share: 5%', 'reject', []],
])('a candidate with %s, on which clients may be, beside onUnknown: %s', (own, onUnknown, paths) => {
  const candidate = `candidate: { endpoints: ["http://b"], ${own} }`
  const financing = `financing: { endpoints: ["http://a"], healthCheck: { path: /h }, ${candidate} }`
  const operations = `{ financing.pre-approval: { idempotency: { onUnknown: ${onUnknown} } } }`

  expect(warned(`${sandbox.replace('financing: sandbox', financing)}\noperations: ${operations}`)).toEqual(paths)
})
