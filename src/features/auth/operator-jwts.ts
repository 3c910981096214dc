import { tooManyAttempts } from '../../core/admin/access/attempt-throttle.ts'
import type {
  Operator,
  OperatorProofs,
  OperatorToken,
  TokenRejections,
} from '../../core/admin/access/operator-tokens.ts'
import type { AdminError } from '../../core/admin/admin-error.ts'
import type { AdminConfig } from '../../core/config/config.ts'
import { type OperatorScope, operatorScopes, takenNameMistake } from '../../core/lib/operators.ts'
import { ownMember } from '../../core/lib/plain-object.ts'
import { digestSecret } from '../../core/lib/secrets.ts'
import type { Log } from '../../core/log/log.ts'
import { findOperatorByCertificate } from './client-certificate.ts'
import type { JwtConfig } from './config.ts'
import type { OperatorJwtConfig } from './config-tokens.ts'
import { CredentialRejected, VerifierUnavailable } from './errors.ts'
import type { Claims } from './tokens/claims.ts'
import { isJwt } from './tokens/jwt/jwt-verifier.ts'
import { createTokenVerifiers, type JwtVerifierLease } from './tokens/token-verifiers.ts'

type VerifiedToken = OperatorToken | AdminError | null

/** Fetches keys for operators only (`admin.jwt`): clients that name unknown keys delay no operator. */
export const createOperatorJwts = (log: Pick<Log, 'info' | 'warn'>, rejections: TokenRejections): OperatorProofs => {
  const verifiers = createTokenVerifiers((level, event, fields) => log[level](fields, event))
  /** By the token's digest. */
  const pending = new Map<string, Promise<VerifiedToken>>()
  let latest: { readonly config: OperatorJwtConfig; readonly lease: JwtVerifierLease } | null = null

  const verify = async (token: string, digest: Buffer, address: string): Promise<VerifiedToken> => {
    const current = latest
    if (current === null || !isJwt(token)) return null
    const toOperatorToken = (claims: Claims, logRejection: TokenRejections['log']): OperatorToken | null => {
      const operator = readOperator(claims, current.config)
      if (typeof operator !== 'string')
        return { operator, digest, expiresAt: Number(claims.exp) * 1000 + current.config.clockTolerance }
      logRejection(address, operator, describeRejection(operator, claims, current.config))
      return null
    }
    const known = current.lease.recall(toRecallKey(digest))
    // Logged each time: an operator who tries again reads the end of the log.
    if (known !== null) return toOperatorToken(known, (...rejection) => rejections.logIfAllowed(...rejection))
    const throttle = rejections.throttleOf(address)
    const retryAfter = throttle.tryAcquire()
    if (retryAfter !== null) return tooManyAttempts(retryAfter)
    const claims = await Promise.try(current.lease.getClaims, token).catch((error: unknown) => {
      if (error instanceof CredentialRejected || error instanceof VerifierUnavailable) return error
      throw error
    })
    if (latest !== current) {
      throttle.refund()
      return verify(token, digest, address) // a reload changed the issuer during the verification
    }
    if (claims instanceof VerifierUnavailable) {
      throttle.refund()
      return keysUnavailable // the verifier has logged it
    }
    if (claims instanceof CredentialRejected) {
      rejections.log(address, claims.reason, claims.message)
      return null
    }
    const operatorToken = toOperatorToken(claims, (...rejection) => rejections.log(...rejection))
    if (operatorToken !== null) throttle.refund()
    return operatorToken
  }

  /** Verified tokens stay valid unless the settings of verification change. */
  const applyConfig = ({ jwt }: Pick<AdminConfig, 'jwt'>): void => {
    const before = latest
    latest = jwt && { config: jwt, lease: verifiers.acquireJwt(withoutClaims(jwt)) }
    before?.lease.release()
  }

  return {
    applyConfig,
    takesTokens: ({ jwt }) => jwt !== null,
    isTaken: (token, { jwt }) => jwt !== null && isJwt(token),
    tokenScopes: ({ jwt }) => Object.values(jwt?.scopes ?? {}),
    /**
     * Verifies once for concurrent requests. Null: rejected and logged. An error: keys unavailable, or too many
     * attempts.
     */
    verify(token, address) {
      const digest = digestSecret(token)
      const name = toRecallKey(digest)
      const verifying = pending.get(name) ?? verify(token, digest, address).finally(() => pending.delete(name))
      pending.set(name, verifying)
      return verifying
    },
    /** By SHA-256. Null: not verified, expired, its key is gone, or the configuration has changed. */
    recall(digest) {
      const claims = latest?.lease.recall(toRecallKey(digest)) ?? null
      const operator = latest && claims && readOperator(claims, latest.config)
      return typeof operator === 'string' ? null : operator
    },
    ofConnection: findOperatorByCertificate,
    state: () => latest?.lease.state() ?? null,
    close: () => applyConfig({ jwt: null }),
  }
}

// Claims are read for each request, so an edit of their meaning keeps verified tokens.
const withoutClaims = ({ nameClaim: _, scopeClaim: __, scopes: ___, ...settings }: OperatorJwtConfig): JwtConfig =>
  settings

const toRecallKey = (digest: Buffer): string => digest.toString('base64url')

const keysUnavailable: AdminError = {
  status: 503,
  code: 'identity-unavailable',
  detail:
    'the keys of the operators’ issuer (admin.jwt.jwks) cannot be fetched: use a token of the file or a certificate',
  headers: { 'Retry-After': '1' },
}

/** Reasons why a valid token belongs to no operator. */
type OperatorRejection = 'bound-token' | 'no-name' | 'no-scope'

type OperatorClaimConfig = Pick<OperatorJwtConfig, 'nameClaim' | 'scopeClaim' | 'scopes'>

export const readOperator = (claims: Claims, config: OperatorClaimConfig): Operator | OperatorRejection => {
  // The token is bound to a key (RFC 7800), whose possession this listener cannot check: a thief could use the token.
  if (Object.hasOwn(claims, 'cnf')) return 'bound-token'
  const scope = readScope(claims, config)
  if (scope === null) return 'no-scope'
  const name = readName(claims, config)
  return name === null ? 'no-name' : { name, scope, proof: 'jwt' }
}

/** Lists the token's claims by name, never by value. */
export const describeRejection = (
  rejection: OperatorRejection,
  claims: Claims,
  config: OperatorClaimConfig,
): string => {
  const { nameClaim, scopeClaim } = config
  if (rejection === 'bound-token')
    return 'it is bound to a key or a certificate (claim cnf), which this listener cannot check'
  const [key, claim] = rejection === 'no-scope' ? ['scopeClaim', scopeClaim] : ['nameClaim', nameClaim]
  if (ownMember(claims, claim) === undefined) return `it has no claim ${claim} (admin.jwt.${key}) at its top level`
  return rejection === 'no-scope'
    ? `no value of its claim ${claim} is in admin.jwt.scopes`
    : `its claim ${claim} (admin.jwt.nameClaim) is no name: a text of 1 to 128 visible ASCII characters, and no address`
}

// Names go into log lines: no control characters, and a limit.
const namePattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/

const readName = (claims: Claims, { nameClaim }: OperatorClaimConfig): string | null => {
  const name = ownMember(claims, nameClaim)
  return typeof name === 'string' && namePattern.test(name) && takenNameMistake(name) === null ? name : null
}

/** The highest of several scopes counts. */
const readScope = (claims: Claims, { scopeClaim, scopes }: OperatorClaimConfig): OperatorScope | null => {
  const held = new Set(
    listValues(claims, scopeClaim).flatMap((value) =>
      typeof value === 'string' && Object.hasOwn(scopes, value) ? [scopes[value]] : [],
    ),
  )
  return operatorScopes.findLast((scope) => held.has(scope)) ?? null
}

// RFC 9068 §2.2.3 separates scopes by blanks, and so does a text in `scp`. In other claims a text is one value: `former
// oncall` is not two groups.
const blankSeparated: ReadonlySet<string> = new Set(['scope', 'scp'])

const listValues = (claims: Claims, name: string): readonly unknown[] => {
  const value = ownMember(claims, name)
  if (Array.isArray(value)) return value
  return typeof value === 'string' && blankSeparated.has(name) ? value.split(' ') : [value]
}
