import {
  type FailureReason,
  GatewayError,
  type ReasonFor,
  StacklessError,
} from '../../core/exchange/failures/errors.ts'
import { fieldNameEquals, type HeaderFields } from '../../core/exchange/header-fields.ts'

class ErrorWithReason<Why extends FailureReason> extends StacklessError {
  readonly reason: Why

  constructor(reason: Why, message: string) {
    super(message)
    this.reason = reason
  }
}

/** For an invalid credential. The message is for operators, and quotes only registered names. */
export class CredentialRejected extends ErrorWithReason<ReasonFor<'unauthenticated'>> {
  override readonly name = 'CredentialRejected'
}

/** For a credential that cannot be verified, because its server is unavailable. */
export class VerifierUnavailable extends ErrorWithReason<ReasonFor<'identity-unavailable'>> {
  override readonly name = 'VerifierUnavailable'
}

/** Schemes of tokens, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type AuthScheme = 'bearer' | 'dpop'

/** Allowed for proofs of possession; null: proofs are not accepted. */
export type ProofAlgorithms = readonly string[] | null

interface ChallengeError {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  readonly scopes?: readonly string[]
}

/** RFC 6750 §3, RFC 9449 §7.1. `algorithms` null: asks for Bearer. Without a credential, no error parameter. */
export const createAuthChallenge = (scheme: AuthScheme, algorithms: ProofAlgorithms, failure?: ChallengeError) => {
  const algs = scheme === 'dpop' && algorithms !== null ? `algs="${algorithms.join(' ')}"` : null
  const params = [
    'realm="lender-gateway"',
    failure && `error="${failure.error}"`,
    failure?.scopes && `scope="${failure.scopes.join(' ')}"`,
    algs,
  ]
  return `${algs === null ? 'Bearer' : 'DPoP'} ${params.filter((each) => typeof each === 'string').join(', ')}`
}

/** `reason` and `why` are for operators; the client sees only `challenge`. */
export const unauthenticated = (challenge: string, reason: ReasonFor<'unauthenticated'>, why: string): GatewayError =>
  new GatewayError('unauthenticated', { reason, cause: why, fields: ['WWW-Authenticate', challenge] })

export const identityUnavailable = (reason: ReasonFor<'identity-unavailable'>, why: string): GatewayError =>
  new GatewayError('identity-unavailable', { reason, cause: why, fields: ['Retry-After', '1'] })

export const malformedCredential = (reason: ReasonFor<'bad-request'>, why: string): GatewayError =>
  new GatewayError('bad-request', { reason, cause: why })

/** Throws for several fields: an upstream may read either. `lower`: the name in lower case. */
export const singleFieldValue = (fields: HeaderFields, lower: string): string | null => {
  let found: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!fieldNameEquals(fields[i] as string, lower)) continue
    if (found !== null) throw malformedCredential('several-credentials', `several ${lower} fields`)
    found = fields[i + 1] as string
  }
  return found
}
