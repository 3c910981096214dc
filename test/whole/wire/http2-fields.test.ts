/** Malformed fields of HTTP/2 (RFC 9113 §8.2.1). */
import { describe, expect, test } from 'vitest'
import { block, bootHttp2, frame, frameClient, get, missing } from '../../helpers/http2.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const post = get('/valuation/score', 'POST')
const ok = 136 // :status 200 and 400, as HPACK has them in its table (RFC 7541, appendix A)
const badRequest = 140

/** Sends requests on one connection, one after the other, and returns the statuses and how many went upstream. */
const ask = async (settings: object, ...requests: readonly (readonly string[])[]) => {
  const upstream = await httpUpstream()
  const { port, lines } = await bootHttp2({ upstream: upstream.url, ...settings })
  const client = await frameClient(port)
  const statuses: unknown[] = []
  for (const [nth, fields] of requests.entries()) {
    const stream = 2 * nth + 1
    await client.send(frame(1, 5, stream, block(...fields)))
    const response = await client.frame((each) => each.stream === stream && (each.type === 1 || each.type === 3))
    statuses.push(response?.type === 1 ? response.payload[0] : response)
  }
  return { statuses, sent: upstream.requests.length, lines }
}

describe.skipIf(missing !== null)('over HTTP/2', () => {
  test.each([' b', 'b ', '\tb', 'b\t', ' ', '\t'])('a field whose value is %j is 400', async (value) => {
    const { statuses, sent, lines } = await ask({}, [...get(), 'x-a', value], [...post, 'cookie', value], get())

    expect(statuses).toEqual([badRequest, badRequest, ok])
    expect(sent).toBe(1)
    expect(lines.filter(({ reason }) => reason === 'bad-field')).toHaveLength(2)
  })

  test('blanks within a value, and an empty value, are no fault', async () => {
    const { statuses } = await ask({}, [...get(), 'x-a', 'b \t c', 'x-b', ''])

    expect(statuses).toEqual([ok])
  })

  test.each([
    ['idempotency-key', 'k\x01'],
    ['idempotency-key', 'k\r\n'],
    ['idempotency-key', 'k\0'],
    ['idempotency-key', '\x7fk'],
    ['idempotency-key', ' k'],
    ['idempotency-key', 'k\t'],
    ['idempotency-key ', 'k'],
    ['idempotency\x00key', 'k'],
  ])('a POST whose key of idempotency is %j: %j is processed never, and not twice', async (name, value) => {
    const operations = { 'valuation.score': { idempotency: true } }

    const { statuses, sent } = await ask({ operations }, [...post, name, value], [...post, name, value])

    expect(statuses).toEqual([badRequest, badRequest])
    expect(sent).toBe(0)
  })

  test('a POST with a good key is processed once', async () => {
    const operations = { 'valuation.score': { idempotency: true } }

    const keyed = [...post, 'idempotency-key', '8e03978e']
    const { statuses, sent } = await ask({ operations }, keyed, keyed)

    expect(statuses).toEqual([ok, ok])
    expect(sent).toBe(1)
  })
})
