import { checkFields, fieldNameEquals, type HeaderFields, isFieldValue } from '../../exchange/header-fields.ts'
import { STATUS_CODES } from '../../exchange/node-http.ts'
import { epochMs } from '../../lib/clock.ts'
import type { Http1Request } from './http1-request.ts'

/**
 * RFC 9112 §6.3, §9.3. `phrase` empty: the standard one. `isLast`: the gateway ends the connection. Throws on a status,
 * phrase or field that a head cannot hold.
 */
export const renderResponseHead = (
  status: number,
  phrase: string,
  fields: HeaderFields,
  { method, httpVersion, isPersistent }: Pick<Http1Request, 'method' | 'httpVersion' | 'isPersistent'>,
  isLast: boolean,
  keepAliveMs: number,
) => {
  if (status < 100 || status > 999) throw new RangeError(`a status of ${status}`)
  let hasDate = false
  let hasLength = false
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, 'content-length')) hasLength = true
    else if (fieldNameEquals(fields[i] as string, 'date')) hasDate = true
  }
  // RFC 9110 §9.3.2, §15.3.5, §15.4.5: no content.
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
  const isChunked = hasBody && !hasLength && httpVersion === '1.1'
  // HTTP/1.0 knows no chunks: a body without a length ends with the connection.
  const closes = isLast || !isPersistent || (httpVersion === '1.0' && hasBody && !hasLength)
  let text = renderStatusLine(status, phrase) + renderFields(fields)
  if (isLast) text += closeLine
  if (!hasDate) text += `Date: ${formatNow()}\r\n`
  if (!closes) text += `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
  else if (!isLast) text += closeLine
  if (isChunked) text += 'Transfer-Encoding: chunked\r\n'
  return { text: `${text}\r\n`, hasBody, isChunked, isLast: closes }
}

const closeLine = 'Connection: close\r\n'

/** RFC 9110 §15.2. Throws as {@link renderResponseHead} does. */
export const renderInterimHead = (status: number, fields: HeaderFields): string =>
  `${renderStatusLine(status, '')}${renderFields(fields)}\r\n`

const renderStatusLine = (status: number, phrase: string): string => {
  const reason = phrase === '' ? (STATUS_CODES[status] ?? 'unknown') : phrase
  if (!isFieldValue(reason)) throw new TypeError('a control character in the reason phrase')
  return `HTTP/1.1 ${status} ${reason}\r\n`
}

const renderFields = (fields: HeaderFields): string => {
  checkFields(fields)
  let lines = ''
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`
  return lines
}

let formattedSecond = 0
let formatted = ''

/** For `Date` (RFC 9110 §5.6.7), rendered once a second. */
const formatNow = (): string => {
  const second = Math.floor(epochMs() / 1000)
  if (second !== formattedSecond) {
    formattedSecond = second
    formatted = new Date(1000 * second).toUTCString()
  }
  return formatted
}
