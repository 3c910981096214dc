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
export const headerValues = (answer: RawResponse, lower: string): string[] =>
  answer.fields.filter((_, i) => i % 2 === 1 && answer.fields[i - 1]?.toLowerCase() === lower)

/** Returns whether a response is the last of its connection. */
export const closesConnection = (answer: RawResponse): boolean =>
  headerValues(answer, 'connection').some((value) => value.toLowerCase() === 'close')

/**
 * Takes the first response off what was received, interim ones apart: that one, and how much of the text it was. Null:
 * it is not whole yet. `method` is that of the request: a response to HEAD has no body. Throws when the bytes are no
 * response at all.
 */
export const parseResponse = (text: string, method: string): { answer: RawResponse; taken: number } | null => {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [line = '', ...lines] = text.slice(0, end).split('\r\n')
  const start = /^(HTTP\/\d\.\d) (\d{3}) ?(.*)$/.exec(line)
  if (start === null) throw new Error(`no status line: ${JSON.stringify(text.slice(0, 200))}`)
  const fields = lines.flatMap((each) => {
    const at = each.indexOf(':')
    return [each.slice(0, at), each.slice(at + 1).trim()]
  })
  const answer = { version: start[1] ?? '', status: Number(start[2]), reason: start[3] ?? '', fields, body: '' }
  const from = end + 4
  const empty = method === 'HEAD' || answer.status < 200 || answer.status === 204 || answer.status === 304
  if (empty) return { answer, taken: from }
  if (headerValues(answer, 'transfer-encoding').length > 0) return parseChunked(text, from, answer)
  const length = Number(headerValues(answer, 'content-length')[0] ?? Number.NaN)
  if (Number.isNaN(length)) throw new Error(`an answer without a length: ${JSON.stringify(text.slice(0, 500))}`)
  if (text.length < from + length) return null
  return { answer: { ...answer, body: text.slice(from, from + length) }, taken: from + length }
}

const parseChunked = (
  text: string,
  from: number,
  answer: RawResponse,
): { answer: RawResponse; taken: number } | null => {
  let body = ''
  for (let at = from; ; ) {
    const end = text.indexOf('\r\n', at)
    if (end === -1) return null
    const size = Number.parseInt(text.slice(at, end), 16)
    if (text.length < end + 4 + size) return null
    body += text.slice(end + 2, end + 2 + size)
    at = end + 4 + size
    if (size === 0) return { answer: { ...answer, body }, taken: at }
  }
}

/**
 * Takes every whole response off a text; `methods` are those of the requests, in order. What is left over stands in
 * `rest`.
 */
export const parseResponses = (text: string, methods: readonly string[]): { answers: RawResponse[]; rest: string } => {
  const answers: RawResponse[] = []
  let rest = text
  while (rest !== '' && answers.length < methods.length) {
    const next = parseResponse(rest, methods[answers.length] ?? '')
    if (next === null) break
    rest = rest.slice(next.taken)
    if (next.answer.status >= 200) answers.push(next.answer)
  }
  return { answers, rest }
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
export const findProblemFault = (answer: RawResponse, status: number, method = 'GET'): string | null => {
  if (answer.status !== status) return `status ${answer.status}, not ${status}`
  const [title, code] = titles[status] ?? []
  const ids = headerValues(answer, 'x-request-id')
  if (ids.length !== 1 || ids[0] === '') return `request ids: ${JSON.stringify(ids)}`
  if (headerValues(answer, 'content-type').join() !== 'application/problem+json') return 'not problem+json'
  if (answer.reason !== title) return `reason ${answer.reason}`
  if (headerValues(answer, 'date').length !== 1) return 'no date'
  if (method === 'HEAD') return answer.body === '' ? null : 'HEAD is answered with a body'
  const wanted = JSON.stringify({ type: 'about:blank', title, status, code, requestId: ids[0] })
  return answer.body === wanted ? null : `body ${answer.body}`
}
