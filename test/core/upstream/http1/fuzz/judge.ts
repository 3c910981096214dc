import { type ParsedResponse, runResponseParser } from '../../../../helpers/run-response-parser.ts'
import { mend, stricter } from './differences.ts'
import { type LlhttpResponse, runLlhttp } from './llhttp.ts'
import { mutation } from './mutate.ts'

/**
 * Judges the n-th mutation: `run` is the gateway's parser, which has to read the same in parts too, also of a byte each
 * where these are no more than `mostParts`. Returns what `compare` says; throws when nothing explains it.
 */
export const judgeMutation = <Result>(
  n: number,
  { bytes, draw }: ReturnType<typeof mutation>,
  mostParts: number,
  run: (bytes: Buffer, cuts?: readonly number[]) => Result,
  compare: (bytes: Buffer, actual: Result) => string,
): string => {
  const actual = run(bytes)
  const all = JSON.stringify(actual)
  const places = Array.from({ length: 3 }, () => draw(bytes.length + 1)).sort((a, b) => a - b)
  const cuts = bytes.length > mostParts ? [places] : [places, Array.from(bytes, (_, at) => at)]
  try {
    for (const each of cuts) {
      const cut = JSON.stringify(run(bytes, each))
      if (cut !== all) throw new Error(`cut at ${each.slice(0, 10)} it is ${cut}, else ${all}`)
    }
    return compare(bytes, actual)
  } catch (error) {
    throw new Error(`mutation ${n}, ${JSON.stringify(bytes.toString('latin1'))}`, { cause: error })
  }
}

/** Runs both parsers on the n-th mutation. Returns the outcome; throws when nothing explains it. */
export const judge = (n: number): string => judgeMutation(n, mutation(n), 1000, runResponseParser, compare)

/** Runs both parsers on a response. Returns the outcome; throws when they differ, and nothing explains it. */
export const compare = (bytes: Buffer, actual: ParsedResponse = runResponseParser(bytes)): string => {
  const differences: string[] = []
  for (const [name, input] of [
    ['the same', bytes],
    ['only the gateway', withHeads(bytes, mend)],
  ] as const) {
    const expected = runLlhttp(input)
    const difference = findDifference(actual, expected)
    if (difference !== null) differences.push(difference)
    else if (actual.rejected === null) return name
    else if (expected.rejected !== null) return 'rejected by both'
  }
  if (differences.length === 2) throw new Error(differences[0])
  const known = stricter.find(([, says]) => actual.why.includes(says))
  if (known === undefined) throw new Error(`only llhttp accepts it: ${actual.why}`)
  return `only llhttp: ${known[1]}`
}

// Lengths and codings are checked when the head, or the trailer section, is complete. Until then nothing is made of it.
const isEarly = (actual: ParsedResponse, { rejected }: LlhttpResponse): boolean =>
  actual.rejected === null &&
  actual.ended === 'no' &&
  /^(UNEXPECTED|INVALID)_(CONTENT_LENGTH|TRANSFER_ENCODING)$/.test(rejected ?? '')

/** Finds where the two contradict each other in what they hand on, before an error too; null: nowhere. */
const findDifference = (actual: ParsedResponse, expected: LlhttpResponse): string | null => {
  const { status, fields } = expected
  const isPartly = expected.body.startsWith(actual.body) || actual.body.startsWith(expected.body)
  const pairs: [string, unknown, unknown][] = []
  if (actual.status !== 0) {
    pairs.push(['status', [actual.status, actual.reason], [status, expected.reason]])
    pairs.push(['fields', actual.fields, endToEnd(status, fields)])
    if (actual.rejected !== null && !isPartly) pairs.push(['body', actual.body, expected.body])
  }
  if (actual.rejected === null) {
    pairs.push(['body', actual.body, expected.body])
    if (!isEarly(actual, expected)) pairs.push(['end', [null, actual.ended], [expected.rejected, expected.ended]])
    pairs.push(['interim', actual.interim, expected.interim.map(([status, raw]) => [status, endToEnd(status, raw)])])
    if (actual.reusable) pairs.push(['connection', [true, 0], [expected.persistent, expected.behind]])
  }
  const different = pairs.find(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))
  return different === undefined ? null : JSON.stringify(different)
}

// RFC 9110 §7.6.1, written once more: the oracle must not rest on the code under test.
const hopByHop =
  /^(connection|keep-alive|proxy-authenticate|proxy-authentication-info|proxy-authorization|proxy-connection|http2-settings|te|trailer|transfer-encoding|upgrade)$/i

const endToEnd = (status: number, raw: readonly string[]): string[] => {
  const pairs = raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1] ?? '']] : []))
  const named = pairs
    .flatMap(([name = '', value = '']) => (/^connection$/i.test(name) ? value.split(',') : []))
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== 'close' && token !== 'keep-alive')
  const mayHaveLength = status >= 200 && status !== 205
  const kept = pairs.filter(([name = '']) => !hopByHop.test(name) && (mayHaveLength || !/^content-length$/i.test(name)))
  if (status === 205) kept.push(['Content-Length', '0'])
  return kept.filter(([name = '']) => !named.includes(name.toLowerCase())).flat()
}

/** Rewrites the heads of a response, the interim ones too, and leaves the rest. */
const withHeads = (bytes: Buffer, write: (head: string) => string): Buffer => {
  let rest = bytes.toString('latin1')
  let done = ''
  for (;;) {
    const [head = ''] = /^.*?\r\n\r\n/s.exec(rest) ?? [rest]
    done += write(head)
    rest = rest.slice(head.length)
    if (rest === '' || !/^HTTP\/1\.\d 1/.test(head)) return Buffer.from(done + rest, 'latin1')
  }
}
