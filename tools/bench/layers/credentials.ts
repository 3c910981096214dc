/**
 * Makes the credentials that requests carry. Keys are made once a run, so that every gateway knows the same
 * ones.
 */
import { hash, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { certificateThumbprint } from '../../../src/features/auth/client-certificate.ts'
import type { Operation } from '../../../src/operations.ts'
import type { Pair } from '../../../test/helpers/certificates.ts'
import { publicUrl } from '../../../test/helpers/token-binding.ts'
import { claims, type SigningKey, signingKey, signToken } from '../../../test/helpers/tokens.ts'
import { keyField, keyOf } from '../clients.ts'
import type { Load } from '../load.ts'
import type { Fields } from '../workload.ts'

/** What requests carry. */
export interface RequestCredentials {
  /** Makes the fields of one request. */
  readonly fields: (operation: Operation) => Fields
  /** Whether each request carries others. */
  readonly differ: boolean
}

/** Makes the certificate that clients present; null: they present none. */
export type CredentialSource = (shows: Pair | null) => RequestCredentials

/** With each request an idempotency key that was not there before. */
export const freshIdempotencyKeys: CredentialSource = () => ({
  fields: () => ({ [keyField]: keyOf(0), 'Idempotency-Key': randomUUID() }),
  differ: true,
})

/** Signs the tokens. */
export const issuerKey: SigningKey = signingKey('ES256', 'bench')

// What is bound to a key is bound to this one.
const holder = signingKey('ES256', 'holder')
const { crv, kty, x, y } = holder.jwk
const holderJwk = { crv, kty, x, y } // in the order of RFC 7638 §3

/** A run may last for hours. */
const dayS = 24 * 60 * 60

const makeToken = (more: object = {}): string => {
  const exp = Math.floor(Date.now() / 1000) + dayS
  return signToken(issuerKey, claims({ exp, jti: randomUUID(), ...more }))
}

const bearer = (shown: string): Fields => ({ Authorization: `Bearer ${shown}` })
const always = (fields: Fields): RequestCredentials => ({ fields: () => fields, differ: false })

/**
 * Every gateway gets the key, those that do not read it as well: what is sent is the same. Beside it stands an opaque
 * token, the same each time.
 */
export const apiKeyOnly: CredentialSource = () => always({ [keyField]: keyOf(0) })

/** Each time another opaque token, as long as that one. */
export const freshOpaqueTokens: CredentialSource = () => ({
  fields: () => ({ [keyField]: keyOf(0), ...bearer(randomBytes(30).toString('base64url')) }),
  differ: true,
})

export const repeatedJwt: CredentialSource = () => always(bearer(makeToken()))

/** A token that is bound to the certificate of the connection (RFC 8705 §3). */
export const repeatedBoundJwt: CredentialSource = (shows) => {
  if (shows === null) throw new Error('there is no certificate to bind a token to')
  return always(bearer(makeToken({ cnf: { 'x5t#S256': certificateThumbprint(new X509Certificate(shows.cert)) } })))
}

/** Tokens of which each is sent once, so that nothing is known of it. */
export const freshJwts: CredentialSource = () => ({ fields: () => bearer(makeToken()), differ: true })

/** One token that is bound to a key, and with each request a proof that was not there before (RFC 9449). */
export const freshDpopProofs: CredentialSource = () => {
  const bound = makeToken({ cnf: { jkt: hash('sha256', JSON.stringify(holderJwk), 'base64url') } })
  const ath = hash('sha256', bound, 'base64url')
  const prove = ({ method, path }: Operation): string =>
    signToken(
      holder,
      { jti: randomUUID(), htm: method, htu: publicUrl + path, iat: Math.floor(Date.now() / 1000), ath },
      { typ: 'dpop+jwt', kid: undefined, jwk: holderJwk },
    )
  return {
    fields: (operation) => ({ Authorization: `DPoP ${bound}`, DPoP: prove(operation) }),
    differ: true,
  }
}

// More than a core or two serve of requests whose signatures are verified. A proof that comes again is rejected: the
// turn would have failed requests.
const maxPerSecond = 15_000

/** Adds it to a load. What differs by request is made before each turn, so that no proof is too old. */
export const withCredentials = (
  load: Load,
  { fields, differ }: RequestCredentials,
  perSecond = maxPerSecond,
): Load => ({
  name: load.name,
  run: (to, workload, seconds, ...more) => {
    const { operation } = workload
    const asked = { ...workload, fields: { ...workload.fields, ...fields(operation) } }
    if (!differ) return load.run(to, asked, seconds, ...more)
    const byTurns = Array.from({ length: seconds * perSecond }, () => fields(operation))
    return load.run(to, { ...asked, byTurns }, seconds, ...more)
  },
})
