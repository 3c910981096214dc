import { expect, test } from 'vitest'
import { type FailureKind, failureTable } from '../../../src/core/exchange/failures/failure-table.ts'
import { possibleFailures } from '../../../src/features/openapi/operation-notes.ts'
import { allOperations } from '../../../src/operations.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'
import { jwks, signingKey } from '../../helpers/tokens.ts'

const insights = allOperations.find(({ id }) => id === 'market.insights') ?? allOperations[8]

/** Lists the failures of market.insights. */
const failuresOf = (settings: Settings = {}): readonly FailureKind[] => possibleFailures(insights, testConfig(settings))

/** Lists the failures that a setting adds to those of a gateway without it. */
const addedBy = (settings: Settings, base: Settings = {}): readonly FailureKind[] => {
  const before = failuresOf(base)
  return failuresOf({ ...base, ...settings }).filter((kind) => !before.includes(kind))
}

const auth = { methods: ['apiKey'] }
const client = { id: 'bank-a', operations: 'all' }
const jwt = { issuer: 'https://issuer.example', audience: ['gateway'] }
const keysFrom = (from: string) => ({ auth: { methods: ['jwt'], jwt: { ...jwt, jwks: from } } })
const claimed = { auth, clients: [{ ...client, claims: { sub: 'a' } }] }

test('failures that only other requests or the log can have are not described', () => {
  const unseen = /^(not-found|method-not-allowed|truncated|client-gone)$/
  expect(failuresOf().filter((kind) => failureTable[kind].status === 499 || unseen.test(kind))).toEqual([])
  expect(failuresOf().length).toBeGreaterThan(10)
})

const additions: readonly (readonly [string, readonly FailureKind[], Settings, Settings])[] = [
  ['hosts', ['misdirected'], { listen: { hosts: ['gateway.example'] } }, {}],
  ['authentication', ['unauthenticated', 'forbidden'], { auth, clients: [client] }, {}],
  ['a rate by address', ['rate-limited'], { limits: { address: { rate: '1/s' } } }, {}],
  ['a rate of a client', ['rate-limited'], { clients: [{ ...client, rate: '1/s' }] }, { auth }],
  ['a concurrency of a client', ['rate-limited'], { clients: [{ ...client, concurrency: 1 }] }, { auth }],
  ['a rate of another', [], { clients: [{ ...client, operations: ['leads.pipeline'], rate: '1/s' }] }, { auth }],
  ['a cache', ['not-cached'], { operations: { 'market.insights': { cache: true } } }, {}],
  ['a circuit breaker', ['circuit-open'], { defaults: { circuitBreaker: {} } }, {}],
  [
    'a candidate with a circuit breaker and TLS, which an operator may give a share',
    ['circuit-open', 'tls-failed'],
    { upstreams: { market: { endpoints: ['sandbox'], candidate: { endpoints: ['https://b'], circuitBreaker: {} } } } },
    {},
  ],
  ['an endpoint with TLS', ['tls-failed'], { upstreams: { market: 'https://market.internal' } }, {}],
  ['a deadline', ['deadline-exceeded'], { defaults: { deadline: '1s' } }, { defaults: { deadline: 'none' } }],
  ['a time to connect', ['connect-timeout'], { defaults: {} }, { defaults: { timeouts: { connect: 'none' } } }],
  ['a time to respond', ['headers-timeout'], { defaults: {} }, { defaults: { timeouts: { headers: 'none' } } }],
  ['a size of bodies', ['content-too-large'], { defaults: {} }, { defaults: { maxBody: 'none' } }],
  ['keys of an issuer, from a file', [], keysFrom(jwks(signingKey('ES256', 'one'))), claimed],
  ['keys of an issuer, from a server', ['identity-unavailable'], keysFrom('https://issuer.example/keys'), claimed],
]

test.each(additions)('%s adds its failures, and nothing else', (_, added, settings, base) => {
  expect(addedBy(settings, base)).toEqual(added)
})

test('a failure of one operation is not described for another', () => {
  const config = testConfig({ operations: { 'market.insights': { cache: true, maxBody: 'none' } } })

  const other = possibleFailures(allOperations[0], config)

  expect(other).toContain('content-too-large')
  expect(other).not.toContain('not-cached')
})

test('idempotency adds the failures of a key', () => {
  const [score] = allOperations
  const failures = (idempotency: unknown) =>
    possibleFailures(score, testConfig({ operations: { [score.id]: { idempotency } } }))
  const without = failures(false)
  const addedWith = (policy: unknown) => failures(policy).filter((kind) => !without.includes(kind))

  const ofKeys = ['idempotency-key-invalid', 'idempotency-key-reused', 'request-in-progress', 'outcome-unknown']
  const always = [...ofKeys, 'rate-limited', 'response-not-kept', 'truncated']
  const required = [...always, 'idempotency-key-missing', 'idempotency-unavailable']
  expect(addedWith({ required: true }).toSorted()).toEqual(required.toSorted())
  expect(addedWith({ onStoreFailure: 'pass' }).toSorted()).toEqual(always.toSorted())
})
