import { fieldValues, parseHead } from './wire.ts'

/** One response taken off a connection's bytes. Strings are latin1. */
export interface RawResponse {
  readonly status: number
  readonly reason: string
  readonly version: string
  /** Flat, as on the wire. */
  readonly fields: readonly string[]
  readonly body: string
}

/** Finds every value of a field; `lower` is the name in lower case. */
export const headerValues = (response: RawResponse, lower: string): string[] => fieldValues(response.fields, lower)

/** Returns whether a response is the last of its connection. */
export const closesConnection = (response: RawResponse): boolean =>
  headerValues(response, 'connection').some((value) => value.toLowerCase() === 'close')

/**
 * Takes the first response off what was received, interim ones apart: that one, and how much of the text it was. Null:
 * it is not whole yet. `method` is that of the request: a response to HEAD has no body. Throws when the bytes are no
 * response at all.
 */
export const parseResponse = (text: string, method: string): { response: RawResponse; taken: number } | null => {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const response = { ...parseHead(text.slice(0, end)), body: '' }
  const from = end + 4
  const empty = method === 'HEAD' || response.status < 200 || response.status === 204 || response.status === 304
  if (empty) return { response: response, taken: from }
  if (headerValues(response, 'transfer-encoding').length > 0) return parseChunked(text, from, response)
  const length = Number(headerValues(response, 'content-length')[0] ?? Number.NaN)
  if (Number.isNaN(length)) throw new Error(`a response without a length: ${JSON.stringify(text.slice(0, 500))}`)
  if (text.length < from + length) return null
  return { response: { ...response, body: text.slice(from, from + length) }, taken: from + length }
}

const parseChunked = (
  text: string,
  from: number,
  response: RawResponse,
): { response: RawResponse; taken: number } | null => {
  let body = ''
  for (let at = from; ; ) {
    const end = text.indexOf('\r\n', at)
    if (end === -1) return null
    const size = Number.parseInt(text.slice(at, end), 16)
    if (text.length < end + 4 + size) return null
    body += text.slice(end + 2, end + 2 + size)
    at = end + 4 + size
    if (size === 0) return { response: { ...response, body }, taken: at }
  }
}

/**
 * Takes every whole response off a text; `methods` are those of the requests, in order. What is left over stands in
 * `rest`.
 */
export const parseResponses = (
  text: string,
  methods: readonly string[],
): { responses: RawResponse[]; rest: string } => {
  const responses: RawResponse[] = []
  let rest = text
  while (rest !== '' && responses.length < methods.length) {
    const next = parseResponse(rest, methods[responses.length] ?? '')
    if (next === null) break
    rest = rest.slice(next.taken)
    if (next.response.status >= 200) responses.push(next.response)
  }
  return { responses: responses, rest }
}

const titles: Readonly<Record<number, readonly [title: string, code: string]>> = {
  400: ['Bad Request', 'bad-request'],
  404: ['Not Found', 'not-found'],
  405: ['Method Not Allowed', 'method-not-allowed'],
  408: ['Request Timeout', 'request-timeout'],
  413: ['Content Too Large', 'content-too-large'],
  414: ['URI Too Long', 'uri-too-long'],
  417: ['Expectation Failed', 'expectation-failed'],
  431: ['Request Header Fields Too Large', 'header-too-large'],
  501: ['Not Implemented', 'unsupported-coding'],
  505: ['HTTP Version Not Supported', 'unsupported-version'],
  508: ['Loop Detected', 'loop'],
}

/**
 * Names what is wrong with a response that should be the gateway's own rejection (RFC 9457), or null. `code` is
 * looked up here, apart from the table under test.
 */
export const findProblemFault = (response: RawResponse, status: number, method = 'GET'): string | null => {
  if (response.status !== status) return `status ${response.status}, not ${status}`
  const [title, code] = titles[status] ?? []
  const ids = headerValues(response, 'x-request-id')
  if (ids.length !== 1 || ids[0] === '') return `request ids: ${JSON.stringify(ids)}`
  if (headerValues(response, 'content-type').join() !== 'application/problem+json') return 'not problem+json'
  if (response.reason !== title) return `reason ${response.reason}`
  if (headerValues(response, 'date').length !== 1) return 'no date'
  if (method === 'HEAD') return response.body === '' ? null : 'HEAD gets a body'
  const wanted = JSON.stringify({ type: 'about:blank', title, status, code, requestId: ids[0] })
  return response.body === wanted ? null : `body ${response.body}`
}
