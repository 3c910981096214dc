import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { rawUpstream } from '../helpers/upstream.ts'
import { eventually, renderHead } from '../helpers/wire.ts'

// The attack: uploads that go on and on, a byte at a time, until an upstream has no connection left. A body that
// streams is not read before there is one, so no gap in it is timed and the request is never complete: the next client
// with an upload waited for ever.
const deadlineMs = 200
const post = (...framing: readonly string[]): string =>
  renderHead({ method: 'POST', target: '/valuation/score', fields: [...framing, 'Connection', 'keep-alive'] })

test.each([
  ['in chunks', post('Transfer-Encoding', 'chunked'), '3\r\nabc\r\n0\r\n\r\n'],
  ['of a large length', post('Content-Length', '70000'), 'x'.repeat(70_000)],
  ['that waits to be asked for', post('Transfer-Encoding', 'chunked', 'Expect', '100-continue'), ''],
])(
  'an upload %s gets an error in the time of the deadline when there is no connection for it',
  async (_, head, body) => {
    let reached = 0
    const upstream = await rawUpstream((socket) => {
      reached++
      socket.on('data', () => {})
      socket.on('end', () => socket.end())
    })
    const { port } = await bootGateway({
      upstream: upstream.url,
      defaults: { maxConnections: 1, deadline: `${deadlineMs}ms` },
    })
    const holder = await rawClient(port)
    holder.send(`${post('Transfer-Encoding', 'chunked')}1\r\nx\r\n`)
    await eventually(() => reached === 1)
    const client = await rawClient(port)

    client.send(head + body)
    const received = await client.until(isWholeResponse)
    const holding = holder.received()
    holder.close()
    client.close()

    expect(parseStatus(received)).toBe(504)
    expect(received).toContain('deadline-exceeded')
    expect(holding).toBe('')
  },
)
