import { X509Certificate } from 'node:crypto'
import { certificateFields, pemBlocks } from '../../core/config/certificates.ts'
import type { Config } from '../../core/config/config.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import { findRedis } from '../redis/redis-settings.ts'
import { apiKeyAuthenticator } from './api-key.ts'
import type { Authenticator, AuthOptions } from './auth.ts'
import {
  certificateFromConnection,
  certificateFromHeader,
  type GetClientCertificate,
  mtlsAuthenticator,
  withValidityCheck,
} from './client-certificate.ts'
import { getClientRegistry } from './client-registry.ts'
import type { AuthConfig, OperationAuthConfig } from './config.ts'
import type { GetClaims } from './tokens/claims.ts'
import { dpopProofChecker, replayWindowMs } from './tokens/dpop.ts'
import { isJwt } from './tokens/jwt/jwt-verifier.ts'
import type { ReplayCaches } from './tokens/replay-cache.ts'
import { senderConstraint, tokenAuthenticator } from './tokens/token-authenticator.ts'
import type { TokenVerifiers } from './tokens/token-verifiers.ts'

export type AuthProvider = NonNullable<ReturnType<typeof createAuthProvider>>

/** Null: `auth` is off. */
export const createAuthProvider = (
  { auth: config, clients: clientConfigs, listen, ...others }: Pick<Config, 'auth' | 'clients' | 'listen'>,
  tokenVerifiers: TokenVerifiers,
  replayCaches: ReplayCaches,
) => {
  if (config === null) return null
  const { dpop, mtls } = config
  const clients = getClientRegistry(clientConfigs)
  const jwt = config.jwt && tokenVerifiers.acquireJwt(config.jwt)
  const introspection = config.introspection && tokenVerifiers.acquireIntrospection(config.introspection)
  const verifiers = { jwt: jwt?.getClaims ?? rejectToken, introspection: introspection?.getClaims ?? rejectToken }
  const replayLease =
    dpop &&
    replayCaches.acquire(
      { windowMs: replayWindowMs(dpop), whenUnavailable: dpop.withoutRedis },
      findRedis(others, 'counts'),
    )
  const algorithms = dpop?.algorithms ?? null
  const getCertificate = withValidityCheck(certificateSource(mtls))
  const fieldsOfCertificate = certificateFields(mtls)
  const checkProof =
    dpop && replayLease && listen.publicUrl !== null
      ? dpopProofChecker({ ...dpop, publicUrl: listen.publicUrl }, replayLease.replayCache)
      : null
  const checkSenderConstraint = senderConstraint(config.bound === 'required', getCertificate, checkProof, algorithms)

  const createAuthenticator = (name: AuthMethod, configured: readonly AuthMethod[]): Authenticator => {
    if (name === 'apiKey') return apiKeyAuthenticator(config.apiKey.field, clients)
    if (name === 'mtls') return mtlsAuthenticator(getCertificate, clients, fieldsOfCertificate)
    return tokenAuthenticator({
      name,
      getClaims: verifiers[name],
      // With both methods, this method verifies JWTs and leaves other tokens to introspection.
      accepts: name === 'jwt' && configured.includes('introspection') ? isJwt : () => true,
      clients,
      checkSenderConstraint,
      certificateFields: fieldsOfCertificate,
      algorithms,
    })
  }

  return {
    authOptions: ({ methods, ...required }: OperationAuthConfig): AuthOptions => ({
      authenticators: methods.map((name) => createAuthenticator(name, methods)),
      forwardsCredentials: config.credentials === 'forward',
      identityField: config.identityField,
      required,
      algorithms,
    }),
    /** `proofs` null: no DPoP, or another process remembers the proofs. */
    state: () => ({
      jwt: jwt?.state() ?? null,
      introspection: introspection?.state() ?? null,
      proofs: replayLease?.state() ?? null,
    }),
    /** Null: Redis is not configured for proofs, or other processes connect to it. */
    sharedProofs: replayLease?.shared ?? null,
    release: () => {
      for (const lease of [jwt, introspection, replayLease]) lease?.release()
    },
  }
}

/** The configuration checks keep an operation from using a method that is not configured. */
const rejectToken: GetClaims = () => {
  throw new Error('not configured')
}

const certificateSource = ({ from, ca }: AuthConfig['mtls']): GetClientCertificate => {
  if (from === 'connection') return certificateFromConnection
  return certificateFromHeader(ca === null ? null : pemBlocks(ca).map((block) => new X509Certificate(block)))
}
