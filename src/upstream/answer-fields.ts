import { GatewayError } from '../errors.ts'
import { isHopByHop, isNamed, withoutNominated } from '../fields.ts'

/** Reads the fields of an upstream's answer as undici hands them on, and keeps those that are end-to-end. Throws `bad-answer`. */
export const answerFields = (raw: readonly (Buffer | string)[]): string[] => {
  const fields: string[] = []
  let connection = ''
  let isChunked = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = latin1(raw[i])
    const value = latin1(raw[i + 1])
    if (!isHopByHop(name)) {
      fields.push(name, value)
    } else if (isNamed(name, 'connection')) {
      connection = connection === '' ? value : `${connection},${value}`
    } else if (isNamed(name, 'transfer-encoding')) {
      // undici would hand on the body with another coding still in place, and nothing would say so (RFC 9112 §6.1, §7).
      if (isChunked || value.trim().toLowerCase() !== 'chunked') throw otherCoding()
      isChunked = true
    }
  }
  return connection === '' ? fields : withoutNominated(fields, connection)
}

// A byte a character. (Decoding the whole head in one call and cutting it up was tried, and measured no cheaper.)
const latin1 = (raw: Buffer | string | undefined): string =>
  typeof raw === 'string' ? raw : raw === undefined ? '' : raw.toString('latin1')

const otherCoding = (): GatewayError =>
  new GatewayError('bad-answer', {
    reason: 'answer-coding',
    cause: new Error('transfer coding other than chunked, once'),
  })
