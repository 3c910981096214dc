import { hash } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { LRUCache } from 'lru-cache'
import { jose } from './jose.ts'

// One of 4096 bits in base64url; a larger one takes more of our time than the client's.
const maxMember = 690
const maxExponent = 8

// How many are kept ready for use. Only those get in that a token which is good is bound to.
const maxKeys = 1000

/** Takes the public key out of what a proof brings; null: it is none, or it comes with a private one (RFC 9449 §4.3, 7). */
export const publicJwk = (jwk: unknown): JWK | null => {
  if (typeof jwk !== 'object' || jwk === null || secret.some((name) => Object.hasOwn(jwk, name))) return null
  const { kty, crv, x, y, n, e } = jwk as Record<string, unknown>
  // Nothing but what makes the key: neither `use` nor `x5u` is of interest here.
  if (kty === 'EC' && isText(crv) && isText(x) && isText(y)) return { kty, crv, x, y }
  if (kty === 'OKP' && isText(crv) && isText(x)) return { kty, crv, x }
  if (kty === 'RSA' && isText(n) && isText(e) && e.length <= maxExponent) return { kty, n, e }
  return null
}

// RFC 7518 §6.2.2, §6.3.2, §6.4.1.
const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxMember

/** Makes the thumbprint of what {@link publicJwk} gave: the SHA-256 of what makes the key, in the order of the alphabet (RFC 7638 §3). */
export const thumbprintOf = ({ crv, e, kty, n, x, y }: JWK): string =>
  hash('sha256', JSON.stringify({ crv, e, kty, n, x, y }), 'base64url')

/** Keeps the keys of proofs ready for use. */
export interface ProofKeys {
  /** Finds the key whose thumbprint is `jkt`, or makes it ready. Rejects when it is none. */
  find(jkt: string, jwk: JWK, algorithm: string): Promise<CryptoKey>
}

/** Makes a store of a bounded number of keys; the one that was not needed for the longest time goes first. */
export const keysOf = (max: number = maxKeys): ProofKeys => {
  const kept = new LRUCache<string, CryptoKey>({ max })
  return {
    async find(jkt, jwk, algorithm) {
      const name = `${algorithm} ${jkt}` // a key of RSA is ready for one algorithm only
      const found = kept.get(name)
      if (found !== undefined) return found
      const { importJWK } = await jose()
      const key = await importJWK(jwk, algorithm)
      if (key instanceof Uint8Array) throw new Error('not a public key')
      kept.set(name, key)
      return key
    },
  }
}
