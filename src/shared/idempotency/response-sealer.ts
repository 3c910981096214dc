import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

// NIST SP 800-38D §8.2.2: with nonces of 96 bits at random, a key is good for 2^32 responses.
const cipher = 'aes-256-gcm'
const [nonceBytes, tagBytes] = [12, 16]

/** Encrypts responses for a store that others can read or edit, and decrypts them again. */
export interface ResponseSealer {
  /** Encrypts a response that belongs to `context`. */
  seal(response: Buffer, context: string): Buffer
  /** Decrypts a response; null: it was edited, is of another context, or its key is gone. */
  open(sealed: Buffer, context: string): Buffer | null
}

/** Creates a sealer. The first key encrypts, all decrypt. Each has 32 bytes. */
export const createResponseSealer = (keys: readonly Buffer[]): ResponseSealer => {
  const [newest] = keys
  if (newest === undefined) throw new Error('there is no key')
  return {
    seal(response, context) {
      const nonce = randomBytes(nonceBytes)
      const encrypting = createCipheriv(cipher, newest, nonce).setAAD(Buffer.from(context))
      const encrypted = encrypting.update(response)
      encrypting.final()
      return Buffer.concat([nonce, encrypting.getAuthTag(), encrypted])
    },
    open(sealed, context) {
      for (const key of keys) {
        const opened = decrypt(sealed, key, context)
        if (opened !== null) return opened
      }
      return null
    },
  }
}

const decrypt = (sealed: Buffer, key: Buffer, context: string): Buffer | null => {
  if (sealed.length < nonceBytes + tagBytes) return null
  const bodyAt = nonceBytes + tagBytes
  const decrypting = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(nonceBytes, bodyAt))
  try {
    const decrypted = decrypting.update(sealed.subarray(bodyAt))
    decrypting.final()
    return decrypted
  } catch {
    return null
  }
}
