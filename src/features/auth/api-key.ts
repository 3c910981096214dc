import { timingSafeEqual } from 'node:crypto'
import { getFirstFieldValue } from '../../core/exchange/header-fields.ts'
import { digestSecret } from '../../core/lib/secrets.ts'
import { type Authenticator, singleFieldValue, unauthenticated } from './authenticator.ts'
import type { ClientRegistry } from './client-registry.ts'

// The public half, and the secret one.
const keyPattern = /^([\w-]{1,64})\.(.*)$/s
// 256 bits in base64url.
const secretPattern = /^[\w-]{43}$/

// The digest to compare with where there is no such key: the work is the same, and no known text hashes to it.
const dummyDigest = Buffer.alloc(32)

export const apiKeyAuthenticator = (field: string, clients: ClientRegistry): Authenticator => {
  const lower = field.toLowerCase()
  // There is no registered scheme for a key in a field of its own; RFC 9110 §11.6.1 asks for some challenge.
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
      const isRight = timingSafeEqual(digestSecret(isWhole ? secret : ''), known?.digest ?? dummyDigest)
      if (known === undefined) throw unauthenticated(challenge, 'unknown-key', 'no such key')
      // A key that was cut off where it was copied is known all the same.
      if (!isWhole)
        throw unauthenticated(challenge, 'wrong-secret', 'the secret of the key is not 43 characters of base64url')
      if (!isRight) throw unauthenticated(challenge, 'wrong-secret', 'the secret of the key is wrong')
      return { client: known.client, token: null, keyId: id }
    },
  }
}
