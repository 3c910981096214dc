import { findHeads, type ParsedConnection, runRequestParser } from '../../../../helpers/run-request-parser.ts'
import { judgeMutation } from '../../../upstream/http1/fuzz/judge.ts'
import { type LlhttpRequest, type LlhttpRequests, runLlhttpOnRequests } from '../../../upstream/http1/fuzz/llhttp.ts'
import { mendHead, mendTrailers, stricter } from './differences.ts'
import { requestMutation } from './mutate.ts'

// So low that some mutations reach them.
const limits = { maxTargetBytes: 256, maxBytes: 1200, maxFields: Number.POSITIVE_INFINITY }

const run = (bytes: Buffer, cuts?: readonly number[]): ParsedConnection => runRequestParser(bytes, cuts, limits)

/** Runs both parsers on the n-th mutation. Returns the outcome; throws on a difference that nothing explains. */
export const judge = (n: number): string => judgeMutation(n, requestMutation(n), 250, run, compare)

/** Runs both parsers on requests. Returns the outcome; throws on a difference that nothing explains. */
export const compare = (bytes: Buffer, actual: ParsedConnection = run(bytes)): string => {
  const differences: string[] = []
  for (const [name, input, mend] of [
    ['the same', bytes, asItIs],
    ['only the gateway', withMends(bytes), mendHead],
  ] as const) {
    const [ours, expected] = upToTheLast(inFormOfLlhttp(actual, mend), runLlhttpOnRequests(input))
    const difference = findDifference(ours, expected, isEarly(actual, expected))
    if (difference !== null) differences.push(difference)
    else if (ours.rejected === null) return name
    else if (isSamePlace(ours, expected)) return 'rejected by both'
    else return explainRejection(ours.rejected)
  }
  throw new Error(differences[0])
}

const explainRejection = (rejection: string): string => {
  const known = stricter.find(([, says]) => says.test(rejection))
  if (known === undefined) throw new Error(`only llhttp accepts it: ${rejection}`)
  return `only llhttp: ${known[1]}`
}

type Mend = (part: string) => string

const asItIs: Mend = (head) => head

/**
 * Behind some requests the two do not read the same, for the gateway's parser leaves it to its connection to stop. So
 * both results end with the first of them.
 *
 * - CONNECT: llhttp takes what follows for the tunnel's, its body too.
 * - An upgrade: llhttp stops behind its body, though the server does not switch. Node passes over errors in that body.
 * - A request that is not persistent: llhttp rejects each byte that follows.
 */
const upToTheLast = (ours: LlhttpRequests, expected: LlhttpRequests): [LlhttpRequests, LlhttpRequests] => {
  const at = ours.requests.findIndex(
    (request) => request.method === 'CONNECT' || isUpgrade(request) || request.persistent === false,
  )
  const last = ours.requests[at]
  if (last === undefined) return [ours, expected]
  const isTunnel = last.method === 'CONNECT'
  const isWithoutBody = isTunnel || (isUpgrade(last) && !last.complete)
  if (!isWithoutBody && !last.complete) return [ours, expected]
  const cut = ({ requests, rejected }: LlhttpRequests): LlhttpRequests => ({
    requests: requests.slice(0, at + 1).map((request, i) => ({
      ...request,
      ...(isWithoutBody && i === at ? { body: '', complete: true } : {}),
      ...(isTunnel && i === at ? { persistent: null } : {}),
    })),
    rejected: requests.length > at && (isWithoutBody || requests[at]?.complete === true) ? null : rejected,
  })
  return [cut(ours), cut(expected)]
}

const isUpgrade = ({ fields }: LlhttpRequest): boolean => {
  const valuesOf = (name: string): string[] =>
    fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === name)
  return valuesOf('upgrade').length > 0 && upgradeOption.test(valuesOf('connection').join())
}

const upgradeOption = /(?:^|,)[\t ]*upgrade[\t ]*(?:,|$)/i

/** Writes the result of the gateway's parser in the form of llhttp's. */
const inFormOfLlhttp = ({ requests, rejected }: ParsedConnection, mend: Mend): LlhttpRequests => ({
  requests: requests.map(({ isPersistent, length: _, ...request }) => ({
    ...(mend === asItIs ? request : mendRequest(request, mend)),
    persistent: isPersistent,
  })),
  rejected: rejected === null ? null : describe(rejected),
})

const mendRequest = (request: Omit<LlhttpRequest, 'persistent'>, mend: Mend): Omit<LlhttpRequest, 'persistent'> => {
  const { method, target, version, fields } = request
  const lines = fields.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
  const [line = '', ...mended] = mend(`${method} ${target} HTTP/${version}\r\n${lines}\r\n`).split('\r\n')
  const pairs = mended.slice(0, -2).map((field) => field.split(/: (.*)/s, 2))
  return { ...request, target: line.slice(method.length + 1, -' HTTP/1.1'.length), fields: pairs.flat() }
}

const describe = ({ kind, reason, why }: NonNullable<ParsedConnection['rejected']>): string =>
  `${kind} ${reason} ${why}`

// The gateway's parser checks a version with the byte behind it, and lengths and codings when the head, or the trailer
// section, is complete. llhttp rejects earlier.
const isEarly = ({ isInHead, requests }: ParsedConnection, { rejected }: LlhttpRequests): boolean =>
  (isInHead && rejected === 'INVALID_VERSION') ||
  ((isInHead || requests.at(-1)?.complete === false) &&
    /^(UNEXPECTED|INVALID)_(CONTENT_LENGTH|TRANSFER_ENCODING)$/.test(rejected ?? ''))

/**
 * Finds where the results contradict each other, before an error too; null: nowhere. llhttp may have read more than the
 * gateway's parser before that rejected.
 */
const findDifference = (ours: LlhttpRequests, expected: LlhttpRequests, isEarlyError: boolean): string | null => {
  const pairs: [string, unknown, unknown][] = []
  for (const [i, { body, complete, ...head }] of ours.requests.entries()) {
    const { body: expectedBody, complete: isComplete, ...expectedHead } = expected.requests[i] ?? noRequest
    pairs.push([`head ${i}`, head, expectedHead])
    if (complete) pairs.push([`end ${i}`, [body, true], [expectedBody, isComplete]])
    else if (!expectedBody.startsWith(body) && !body.startsWith(expectedBody))
      pairs.push([`body ${i}`, body, expectedBody])
  }
  if (ours.rejected === null) {
    pairs.push(['number', ours.requests.length, expected.requests.length])
    const [last, expectedLast] = [ours.requests.at(-1), expected.requests.at(-1)]
    if (!isEarlyError) {
      pairs.push(['error', null, expected.rejected])
      pairs.push(['rest', [last?.body, last?.complete], [expectedLast?.body, expectedLast?.complete]])
    }
  }
  const [different] = pairs.filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))
  return different === undefined ? null : `${different[0]}: ${JSON.stringify(different.slice(1))}`
}

const noRequest = { body: '', complete: false }

/** Whether both parsers reject in the head of one request, or in its body. */
const isSamePlace = (ours: LlhttpRequests, expected: LlhttpRequests): boolean =>
  expected.rejected !== null &&
  ours.requests.length === expected.requests.length &&
  ours.requests.at(-1)?.complete === expected.requests.at(-1)?.complete

/** Writes the heads of requests, and the trailer sections of complete ones, as llhttp reads them. */
const withMends = (bytes: Buffer): Buffer => {
  const text = bytes.toString('latin1')
  let done = ''
  let at = 0
  for (const [from, to] of findHeads(bytes, limits)) {
    done += text.slice(at, from).replace(trailerSection, mendTrailers) + mendHead(text.slice(from, to))
    at = to
  }
  return Buffer.from(done + text.slice(at), 'latin1')
}

// At the end of a body in chunks, behind the last of them.
const trailerSection = /(?<=(?:^|\r\n)0+(?:;[^\r\n]*)?\r\n)(?:[^\r\n]+\r\n)+\r\n$/
