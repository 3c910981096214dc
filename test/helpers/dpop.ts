import { hash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** A client that holds a key and proves it. */
export interface DpopClient {
  readonly jwk: JWK
  /** The thumbprint of its key, as `cnf.jkt` has it. */
  readonly jkt: string
  /** Signs a proof. What is stated takes the place of what would be right; `header` too. */
  prove(wanted: ProofOptions): Promise<string>
}

export interface ProofOptions {
  readonly token: string
  readonly htm?: unknown
  readonly htu: unknown
  readonly header?: Readonly<Record<string, unknown>>
  /** Further claims, or others. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Makes a client with a key of its own. */
export const makeDpopClient = async (alg = 'ES256'): Promise<DpopClient> => {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    jwk,
    jkt: await calculateJwkThumbprint(jwk),
    prove: ({ token, htm = 'GET', htu, header = {}, claims = {} }) =>
      new SignJWT({
        ...{ htm, htu, jti: randomUUID(), iat: Math.floor(Date.now() / 1000) },
        ath: hash('sha256', token, 'base64url'),
        ...claims,
      } as Record<string, unknown>)
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header })
        .sign(privateKey),
  }
}
