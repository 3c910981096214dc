import type { AuthMethod } from '../../exchange.ts'
import type { Reason } from '../../failures/reasons.ts'
import type { AttemptFailure } from '../../observe/metrics/meter-report.ts'

/** Lists which bound may be full. */
export const shedReasons = [
  'event-loop',
  'limits-concurrency',
  'upstream-concurrency',
  'operation-concurrency',
  'endpoint-connections',
] as const satisfies readonly Reason[]

/** Lists what somebody may have used up. */
export const rateReasons = ['address-rate', 'client-rate', 'client-concurrency'] as const satisfies readonly Reason[]

// Whoever is known need not be let in.
const notLetIn = [
  'unknown-client',
  'client-disabled',
  'wrong-address',
  'wrong-operation',
] as const satisfies readonly Reason[]

const ofTokens = [
  'expired',
  'not-yet-valid',
  'wrong-audience',
  'wrong-issuer',
  'unbound-token',
  'wrong-binding',
  'bad-proof',
  'replayed-proof',
  'missing-scope',
  'missing-claim',
  ...notLetIn,
] as const satisfies readonly Reason[]

/** Lists for each way to prove who calls why that may be refused; `no-credential` is of none of them. */
export const authReasons = {
  apiKey: ['unknown-key', 'wrong-secret', ...notLetIn],
  jwt: ['other-token-flaw', 'token-type', 'bad-signature', 'unknown-kid', ...ofTokens],
  introspection: ['other-token-flaw', 'not-active', ...ofTokens],
  mtls: [
    'no-certificate',
    'certificate-not-valid-now',
    'certificate-not-for-clients',
    'certificate-authority',
    'ambiguous-certificate',
    ...notLetIn,
  ],
} as const satisfies Readonly<Record<AuthMethod, readonly Reason[]>>

/** Lists why nobody may be able to tell. */
export const unprovableReasons = {
  apiKey: [],
  jwt: ['issuer-keys', 'proof-memory'],
  introspection: ['introspection-server', 'introspection-busy', 'proof-memory'],
  mtls: [],
} as const satisfies Readonly<Record<AuthMethod, readonly Reason[]>>

/** Lists what an upstream may do wrong. */
export const upstreamReasons = [
  'all-draining',
  'breaker-open',
  'breaker-proving',
  'refused',
  'reset',
  'closed',
  'unreachable',
  'not-connected-in-time',
  'name-not-found',
  'name-server-silent',
  'no-descriptors',
  'no-ports',
  'other-connect-failure',
  'certificate-expired',
  'certificate-not-yet-valid',
  'certificate-name',
  'certificate-untrusted',
  'certificate-revoked',
  'certificate-flawed',
  'no-tls',
  'no-tls-in-time',
  'tls-version',
  'asks-for-certificate',
  'refuses-certificate',
  'tls-handshake',
  'answer-stalled',
  'not-http',
  'answer-fields-too-large',
  'answer-length',
  'answer-coding',
  'answer-status',
  'answer-field',
  'headers-timeout',
  'deadline-exceeded',
  'status',
] as const satisfies readonly AttemptFailure[]

/** Lists what a client may do wrong, and what an operator may have refused. */
export const rejectReasons = [
  'bad-target',
  'bad-host',
  'bad-length',
  'bad-transfer-coding',
  'bad-chunk',
  'bad-method',
  'bad-version',
  'bad-field',
  'bad-line-end',
  'bad-pseudo-field',
  'cut-short',
  'plain-http',
  'tls-on-plain-port',
  'proxy-header',
  'bad-syntax',
  'bad-frames',
  'too-many-frames',
  'too-many-broken-streams',
  'too-many-fields',
  'fields-too-large',
  'several-credentials',
  'bad-credential',
  'token-in-query',
  'bad-client-cert',
  'head-too-slow',
  'body-stalled',
  'body-too-slow',
  'takes-nothing',
  'takes-too-slowly',
  'nobody-waits',
  'body-too-large-declared',
  'body-too-large-streamed',
  'state-refuse',
  'kill-switch',
] as const satisfies readonly Reason[]

/** Counts by reason: those that are expected from the first time on, because whoever reads a rate sees a first one only if there was none before. */
export const counted = (
  expected: readonly string[],
  seen: readonly { readonly reason: string; readonly count: number }[],
): readonly (readonly [reason: string, count: number])[] => {
  const counts = new Map<string, number>(expected.map((reason) => [reason, 0]))
  for (const { reason, count } of seen) counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts]
}
