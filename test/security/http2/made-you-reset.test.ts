// CVE-2025-8671: the client breaks its own requests, so that the gateway has to reset each of them.
import { expect } from 'vitest'
import { block, frame, get, head } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

const post = (stream: number, ...fields: string[]): Buffer =>
  head(stream, [...get('/valuation/score', 'POST'), ...fields], false)

test.each<[string, (stream: number) => Buffer[]]>([
  ['an empty WINDOW_UPDATE', (id) => [head(id), frame(8, 0, id, Buffer.alloc(4))]],
  ['a window that is too large', (id) => [head(id), frame(8, 0, id, Buffer.from([127, 255, 255, 255]))]],
  ['DATA behind the end', (id) => [head(id), frame(0, 0, id, Buffer.from('a'))]],
  ['a body longer than said', (id) => [post(id, 'content-length', '1'), frame(0, 0, id, Buffer.from('ab'))]],
  ['malformed trailers', (id) => [post(id), frame(1, 5, id, block('X-A', 'b'))]],
  ['PRIORITY of a wrong length', (id) => [post(id), frame(2, 0, id, Buffer.alloc(4))]],
])('requests with %s end their connection', async (_, frames) => {
  const { outcome, begun, lines } = await attack(floodOf((nth) => frames(2 * nth + 1)))

  expect(outcome).toEqual(endedFor('broken-stream', 'too-many-broken-streams'))
  expect(begun).toBeLessThan(1000)
  expect(lines.find(({ reason }) => reason === 'broken-stream')).toMatchObject({
    ...{ status: 499, failure: 'client-gone', cause: expect.any(String), client: '127.0.0.1' },
  })
})
