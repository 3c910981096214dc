import { timingSafeEqual } from 'node:crypto'
import { getFirstFieldValue } from '../../core/exchange/header-fields.ts'
import { digestSecret } from '../../core/lib/secrets.ts'
import type { Authenticator } from './auth.ts'
import type { ClientRegistry } from './client-registry.ts'
import { singleFieldValue, unauthenticated } from './errors.ts'

// The public half, a dot and the secret half.
const keyPattern = /^([\w-]{1,64})\.(.*)$/s
const secretPattern = /^[\w-]{43}$/

// Compared with when the key is unknown, so that the response takes as long. No known text hashes to it.
const dummyDigest = Buffer.alloc(32)

export const apiKeyAuthenticator = (field: string, clients: ClientRegistry): Authenticator => {
  const lower = field.toLowerCase()
  // No scheme is registered for a key in its own field; RFC 9110 §11.6.1 requires some challenge.
  const challenge = `ApiKey realm="lender-gateway", field="${field}"`
  return {
    name: 'apiKey',
    fields: [lower],
    challenge,
    applies: ({ fields }) => getFirstFieldValue(fields, lower) !== undefined,
    authenticate({ fields }) {
      const [, id = '', secret = ''] = keyPattern.exec(singleFieldValue(fields, lower) ?? '') ?? []
      const known = clients.byKey(id)
      const isWhole = secretPattern.test(secret)
      const isEqual = timingSafeEqual(digestSecret(isWhole ? secret : ''), known?.digest ?? dummyDigest)
      const isRight = isWhole && isEqual
      if (known === undefined) throw unauthenticated(challenge, 'unknown-key', 'no such key')
      // A key that was cut off when it was copied has a known id and a short secret.
      if (!isRight) {
        const fault = isWhole ? 'wrong' : 'not 43 characters of base64url'
        throw unauthenticated(challenge, 'wrong-secret', `the secret of key ${id} of ${known.client.id} is ${fault}`)
      }
      return { client: known.client, token: null, keyId: id }
    },
  }
}
