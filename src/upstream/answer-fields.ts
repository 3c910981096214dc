import { GatewayError } from '../errors.ts'
import { isHopByHop, isNamed, withoutNominated } from '../fields.ts'

/** Tells whether a response of this status has no content, whatever comes with it (RFC 9110 §15.3.6). undici knows 204 and 304. */
export const isWithoutContent = (status: number): boolean => status === 205

/** Reads the fields of an upstream's response from undici, and keeps those that are end-to-end. Throws `bad-answer`. */
export const answerFields = (status: number, raw: readonly (Buffer | string)[]): string[] => {
  const fields: string[] = []
  const isEmpty = isWithoutContent(status)
  // RFC 9110 §8.6: a length never stands in an interim response either.
  const dropsLength = isEmpty || status < 200
  let connection = ''
  let isChunked = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = latin1(raw[i])
    const value = latin1(raw[i + 1])
    if (!isHopByHop(name)) {
      if (!isNamed(name, 'content-length')) fields.push(name, value)
      else if (!dropsLength) fields.push(name, value.trimEnd())
    } else if (isNamed(name, 'connection')) {
      connection = connection === '' ? value : `${connection},${value}`
    } else if (isNamed(name, 'transfer-encoding')) {
      // undici would hand on the body with another coding still in place, and nothing would say so (RFC 9112 §6.1, §7). Its parser
      // takes blanks for the end of the value, and a tab for another coding: the chunks' own framing would pass for the body.
      if (isChunked || !chunked.test(value)) throw otherCoding()
      isChunked = true
    }
  }
  if (isEmpty) fields.push('Content-Length', '0')
  return connection === '' ? fields : withoutNominated(fields, connection)
}

const chunked = /^chunked *$/i

// A byte a character. (Decoding the whole head in one call and cutting it up was tried, and measured no cheaper.)
const latin1 = (raw: Buffer | string | undefined): string =>
  typeof raw === 'string' ? raw : raw === undefined ? '' : raw.toString('latin1')

const otherCoding = (): GatewayError =>
  new GatewayError('bad-answer', {
    reason: 'answer-coding',
    cause: new Error('transfer coding other than chunked, once'),
  })
