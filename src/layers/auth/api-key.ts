import { hash, timingSafeEqual } from 'node:crypto'
import { firstValue } from '../../fields.ts'
import type { Clients } from './clients.ts'
import { type Method, onlyValue, unproved } from './method.ts'

// The public half, and 256 bits in base64url.
const form = /^([\w-]{1,64})\.([\w-]{43})$/

// Compared with where there is no such key: as much work, and nothing that hashes to it is known.
const nobodys = Buffer.alloc(32)

/** Proves who calls by a key that the gateway knows the digest of. */
export const apiKey = (field: string, clients: Clients): Method => {
  const lower = field.toLowerCase()
  // There is no registered scheme for a key in a field of its own; RFC 9110 §11.6.1 asks for some challenge.
  const challenge = `ApiKey realm="lender-gateway", field="${field}"`
  return {
    name: 'apiKey',
    fields: [lower],
    challenge,
    applies: ({ fields }) => firstValue(fields, lower) !== undefined,
    prove({ fields }) {
      const [, id = '', secret = ''] = form.exec(onlyValue(fields, lower) ?? '') ?? []
      const known = clients.byKey(id)
      const isRight = timingSafeEqual(hash('sha256', secret, 'buffer'), known?.digest ?? nobodys)
      if (known === undefined) throw unproved(challenge, 'unknown-key', 'no such key')
      if (!isRight) throw unproved(challenge, 'wrong-secret', 'the secret of the key is wrong')
      return { client: known.client, token: null }
    },
  }
}
