/** Lists what is measured: each a gateway with one thing on, and the one that it is compared with. */
import {
  apiKeyOnly,
  type CredentialSource,
  freshDpopProofs,
  freshIdempotencyKeys,
  freshJwts,
  freshOpaqueTokens,
  repeatedBoundJwt,
  repeatedJwt,
} from './credentials.ts'
import type { Switches } from './level-config.ts'

/** A gateway with one thing on, in the words of the file. */
export interface Level {
  readonly name: string
  /** The name of the level that it is compared with, which is sent the same; null: others are compared with it. */
  readonly over: string | null
  /** What stands in the file instead of what turns it off. */
  readonly on: Partial<Switches>
  /** What its requests carry. */
  readonly bring: CredentialSource
  /** Whether clients speak TLS, and show a certificate. */
  readonly tls: boolean
  /** The checkout whose gateway it is; undefined: this one. */
  readonly tree?: string
}

/** Compares levels with one that has nothing on, which stands before them. */
const over = (
  nothing: string,
  bring: CredentialSource,
  tls: boolean,
  levels: readonly (Pick<Level, 'name' | 'on'> & Partial<Level>)[],
): readonly Level[] => [
  { name: nothing, over: null, on: {}, bring, tls },
  ...levels.map((level) => ({ over: nothing, bring, tls, ...level })),
]

const audited = '{ file: DIRECTORY/audit.log, key: file:DIRECTORY/audit-key }'
const keyed = '{ methods: [apiKey] }'
const jwt = 'jwt: { issuer: ISSUER, audience: [AUDIENCE], jwks: file:DIRECTORY/jwks.json }'
const introspection = (cache: string): string =>
  `{ methods: [introspection], introspection: { url: "INTROSPECTION", clientId: bench, clientSecret: bench, cache: ${cache} } }`

const heldTo = (mode: string, sample = '100%'): string =>
  `{ file: DIRECTORY/contract.json, request: ${mode}, response: ${mode}, sample: ${sample} }`

const manyKeys = 'maxEntries: 10000000, maxKeysPerClient: 10000000, maxBytes: 1GiB'

const byKey = 'apiKeys: [KEY]'
const byClaims = 'claims: { client_id: bank-a }'
const byCertificate = 'certificates: [dns:bank-a.example]'

export const levels: readonly Level[] = [
  ...over('nothing', apiKeyOnly, false, [
    { name: 'load-shedding', on: { eventLoopDelay: '1m' } },
    { name: 'concurrency', on: { concurrency: '10000' } },
    { name: 'all three bounds of concurrency', on: { concurrency: '10000', upstreamConcurrency: '10000' } },
    // So much that no request is rejected: what is measured is the counting.
    { name: 'address-limit', on: { address: '{ rate: 1000000/s, burst: 1000000 }' } },
    { name: 'auth by apiKey', on: { auth: keyed, client: byKey } },
    {
      name: 'auth by apiKey and client-limit',
      on: { auth: keyed, client: `${byKey}, rate: 1000000/s, burst: 1000000` },
    },
    { name: 'auth by introspection in cache', on: { auth: introspection('10m'), client: byClaims } },
    {
      name: 'auth by introspection fresh',
      on: { auth: introspection('10m'), client: byClaims },
      bring: freshOpaqueTokens,
    },
    { name: 'body-limit', on: { maxBody: '64MiB' } },
    { name: 'deadline', on: { deadline: '30s' } },
    { name: 'retry', on: { retry: '{ }' } },
    { name: 'audit', on: { audit: audited } },
    { name: 'audit with digests', on: { audit: `${audited.slice(0, -1)}, digests: both }` } },
    { name: 'metrics', on: { metrics: 'true' } },
    { name: 'tracing 1%', on: { tracing: '{ otlp: "RECEIVER", sample: 1% }' } },
    { name: 'tracing 100%', on: { tracing: '{ otlp: "RECEIVER", sample: 100% }' } },
    // With `--workloads json-2k`, or json-64k: the other bodies break this contract.
    { name: 'contract report 100%', on: { contract: heldTo('report') } },
    { name: 'contract report 10%', on: { contract: heldTo('report', '10%') } },
    { name: 'contract enforce', on: { contract: heldTo('enforce') } },
    { name: 'contract learning', on: { contract: '{ learn: true }' } },
    // Without a share and a shadow it gets nothing, and no request passes anything that knows of it.
    { name: 'candidate', on: { candidate: 'share: 0%' } },
    { name: 'share 5%', on: { candidate: 'share: 5%, guard: none' } },
    { name: 'share 100%', on: { candidate: 'share: 100%, guard: none' } },
    { name: 'share 5% and guard', on: { candidate: 'share: 5%' } },
    { name: 'share 100% and guard', on: { candidate: 'share: 100%' } },
    // The candidate is the same upstream: what it is asked for as well is in the cost. Both bodies are the same bytes.
    { name: 'shadow 100%', on: { candidate: 'shadow: { sample: 100%, concurrency: 1000 }' } },
    {
      name: 'shadow 100% uncompared',
      on: { candidate: 'shadow: { sample: 100%, compare: none, concurrency: 1000 }' },
    },
    { name: 'shadow 10%', on: { candidate: 'shadow: { sample: 10%, concurrency: 1000 }' } },
    { name: 'no access log', on: { access: 'false' } },
    { name: 'request id', on: { requestId: 'X-Request-Id' } },
    {
      name: 'the defaults',
      on: { concurrency: '10000', maxBody: '64MiB', deadline: '30s', requestId: 'X-Request-Id', metrics: 'true' },
    },
  ]),
  // With `--workloads post`: a GET has no key. So many keys, and so long a wait for Redis, that no request is rejected.
  ...over('nothing beside a key of idempotency', freshIdempotencyKeys, false, [
    { name: 'idempotency in memory', on: { idempotency: `{ ${manyKeys} }` } },
    {
      name: 'idempotency in Redis',
      on: {
        idempotency: `{ ${manyKeys}, redis: { url: "REDIS", timeout: 1s }, encryptionKeys: ["file:DIRECTORY/idempotency-key"] }`,
      },
    },
  ]),
  ...over('nothing beside a JWT', repeatedJwt, false, [
    { name: 'auth by jwt in cache', on: { auth: `{ methods: [jwt], ${jwt} }`, client: byClaims } },
    { name: 'auth by jwt fresh', on: { auth: `{ methods: [jwt], ${jwt} }`, client: byClaims }, bring: freshJwts },
  ]),
  ...over('nothing beside a proof', freshDpopProofs, false, [
    { name: 'auth by DPoP', on: { auth: `{ methods: [jwt], ${jwt}, bound: required, dpop: { } }`, client: byClaims } },
  ]),
  ...over('nothing over TLS', apiKeyOnly, true, [
    { name: 'auth by mtls', on: { auth: '{ methods: [mtls] }', client: byCertificate } },
  ]),
  ...over('nothing over TLS beside a JWT', repeatedBoundJwt, true, [
    {
      name: 'auth by jwt bound to a certificate',
      on: { auth: `{ methods: [jwt], ${jwt}, bound: required }`, client: byClaims },
    },
  ]),
]

/** Spells a name as `--only` and a directory have it. */
export const toLevelId = ({ name }: Pick<Level, 'name'>): string => name.replaceAll(' ', '-')

/** Finds the levels that are named, and what they are compared with; null: all. Throws for a name that there is not. */
export const chooseLevels = (ids: readonly string[] | null): readonly Level[] => {
  if (ids === null) return levels
  const unknown = ids.filter((id) => !levels.some((level) => toLevelId(level) === id))
  if (unknown.length > 0)
    throw new Error(`unknown levels: ${unknown.join(', ')}\nthere are ${levels.map(toLevelId).join(', ')}`)
  const named = levels.filter((level) => ids.includes(toLevelId(level)))
  return levels.filter((level) => named.includes(level) || named.some(({ over: name }) => name === level.name))
}

/** Adds the levels of another checkout, beside those that are on in this one. */
export const withBefore = (chosen: readonly Level[], tree: string | null): readonly Level[] =>
  tree === null
    ? chosen
    : chosen.flatMap((level) =>
        level.over === null ? [level] : [level, { ...level, name: `${level.name} before`, tree }],
      )
