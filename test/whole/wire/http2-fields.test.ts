/** Malformed fields of HTTP/2 (RFC 9113 §8.2.1). */
import { describe, expect, test } from 'vitest'
import { block, bootHttp2, frame, frameClient, get, isOwnCodec, missing } from '../../helpers/http2.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const post = get('/valuation/score', 'POST')
const ok = 136 // :status 200 and 400, as HPACK has them in its table (RFC 7541, appendix A)
const badRequest = 140

/** Sends requests on one connection, one after the other, and returns the statuses and how many went upstream. */
const askHttp2 = async (settings: object, ...requests: readonly (readonly string[])[]) => {
  const upstream = await httpUpstream()
  const { port, lines } = await bootHttp2({ upstream: upstream.url, ...settings })
  const client = await frameClient(port)
  const statuses: unknown[] = []
  for (const [nth, fields] of requests.entries()) {
    const stream = 2 * nth + 1
    await client.send(frame(1, 5, stream, block(...fields)))
    const response = await client.frame((each) => each.stream === stream && (each.type === 1 || each.type === 3))
    statuses.push(response?.type === 3 ? 'reset' : response?.payload[0])
  }
  return { statuses, sent: upstream.requests.length, lines }
}

describe.skipIf(missing !== null)('over HTTP/2', () => {
  test('a field whose value begins or ends with a blank is 400', async () => {
    const requests = [' b', 'b\t', ' '].flatMap((value) => [
      [...get(), 'x-a', value],
      [...post, 'cookie', value],
    ])

    const { statuses, sent, lines } = await askHttp2({}, ...requests, get())

    expect(statuses).toEqual([...requests.map(() => badRequest), ok])
    expect(sent).toBe(1)
    expect(lines.filter(({ reason }) => reason === 'bad-field')).toHaveLength(requests.length)
  })

  test('blanks within a value, and an empty value, are no fault', async () => {
    const { statuses } = await askHttp2({}, [...get(), 'x-a', 'b \t c', 'x-b', ''])

    expect(statuses).toEqual([ok])
  })

  test('a POST whose key of idempotency is malformed is processed never, and not twice', async () => {
    const operations = { 'valuation.score': { idempotency: true } }
    const keys = [
      ['idempotency-key', 'k\x01'],
      ['idempotency-key', 'k\r\n'],
      ['idempotency-key', 'k\0'],
      ['idempotency-key', '\x7fk'],
      ['idempotency-key', ' k'],
      ['idempotency-key ', 'k'],
      ['idempotency\x00key', 'k'],
    ].flatMap((key) => [key, key])

    const { statuses, sent } = await askHttp2({ operations }, ...keys.map((key) => [...post, ...key]))

    // Node's codec drops a field whose name is malformed; then the POST has no key.
    const isReset = (name = ''): boolean => isOwnCodec && !/^[a-z-]+$/.test(name)
    expect(statuses).toEqual(keys.map(([name]) => (isReset(name) ? 'reset' : badRequest)))
    expect(sent).toBe(0)
  })

  test('a POST with a good key is processed once', async () => {
    const operations = { 'valuation.score': { idempotency: true } }

    const keyed = [...post, 'idempotency-key', '8e03978e']
    const { statuses, sent } = await askHttp2({ operations }, keyed, keyed)

    expect(statuses).toEqual([ok, ok])
    expect(sent).toBe(1)
  })
})
