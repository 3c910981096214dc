/** An upstream that lies, before a gateway that holds responses to a contract. */
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const modes = ['report', 'enforce'] as const

/** Boots a gateway before an upstream that answers each request with bytes of the test's choosing. */
const boot = async (
  mode: (typeof modes)[number],
  answer: (socket: Socket) => void,
  settings: object = {},
): Promise<TestGateway> => {
  const upstream = await rawUpstream((socket) => onRequest(socket, () => answer(socket)))
  return bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), request: 'off', response: mode, maxBody: '64KiB' },
    ...settings,
  })
}

const post =
  'POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
const head = (...fields: readonly string[]): string =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...fields, '', ''].join('\r\n')

describe.each(modes)('%s', (mode) => {
  test('a body far beyond the bound passes, whole and unchecked', async () => {
    const body = `{"grade":"Z","pad":"${'x'.repeat(4 * 1024 ** 2)}"}`
    const gateway = await boot(mode, (socket) => socket.write(head(`Content-Length: ${body.length}`) + body))

    const text = await exchangeRaw(gateway.port, post)

    expect(parseStatus(text)).toBe(200)
    expect(text.endsWith(body)).toBe(true)
  })

  test('a body without an end streams, at the pace of the client, who leaves', async () => {
    let sent = 0
    const sockets: Socket[] = []
    const gateway = await boot(mode, (socket) => {
      sockets.push(socket)
      socket.write(head('Transfer-Encoding: chunked'))
      const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk)) sent += 4096
        socket.once('drain', more)
      }
      more()
    })
    const client = await rawClient(gateway.port)
    client.send(post)
    await client.until((text) => text.length > 500_000)

    client.close()

    await eventually(() => sockets[0]?.destroyed === true)
    expect(sent).toBeGreaterThan(0)
  })

  test('a length that is not reached is no whole response', async () => {
    const gateway = await boot(mode, (socket) => socket.end(`${head('Content-Length: 100')}{"grade":"A"}`))
    const client = await rawClient(gateway.port)
    client.send(post)

    const { received } = await client.ended()

    // Enforced, nothing has gone out yet; reported, the part has, and the connection ends before the rest.
    if (mode === 'enforce') expect(received).toContain('502 Bad Gateway')
    else expect(received.endsWith('{"grade":"A"}')).toBe(true)
    const line = await gateway.line(({ msg }) => msg === 'exchange')
    expect(line.failure).toBe('truncated')
  })

  test('a body that drips is given up after timeouts.body', async () => {
    const gateway = await boot(mode, (socket) => socket.write(`${head('Content-Length: 100')}{`), {
      defaults: { timeouts: { body: '200ms' } },
    })

    const client = await rawClient(gateway.port)
    client.send(post)
    await client.ended()

    const line = await gateway.line(({ msg }) => msg === 'exchange')
    expect([line.failure, line.reason]).toEqual(['truncated', 'answer-stalled'])
  })
})

describe('enforced', () => {
  test.each<[string, string, string]>([
    ['another status', 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n', 'contract-answer-head'],
    [
      'another type',
      'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nxyz',
      'contract-answer-head',
    ],
    ['no type', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', 'contract-answer-head'],
    ['two types', `${head('Content-Type: text/html', 'Content-Length: 13')}{"grade":"A"}`, 'contract-answer-head'],
    ['a member twice', `${head('Content-Length: 25')}{"grade":"A","grade":"B"}`, 'contract-answer-body'],
    [
      '100,000 levels',
      `${head('Transfer-Encoding: chunked')}c350\r\n${'['.repeat(50_000)}\r\n0\r\n\r\n`,
      'contract-answer-body',
    ],
    ['a planted value', `${head('Content-Length: 19')}{"grade":"planted"}`, 'contract-answer-body'],
    ['nothing', head('Content-Length: 0'), 'contract-answer-body'],
  ])('%s becomes 502, and no byte of it goes out or into the log', async (_, bytes, reason) => {
    const gateway = await boot('enforce', (socket) => socket.write(bytes))

    const text = await exchangeRaw(gateway.port, post)

    expect(parseStatus(text)).toBe(502)
    expect(text).not.toContain('errors')
    expect(text).not.toContain('planted')
    const line = await gateway.line(({ msg }) => msg === 'exchange')
    expect([line.failure, line.fault, line.reason]).toEqual(['invalid-response', 'upstream', reason])
    expect(JSON.stringify(line)).not.toContain('planted')
  })

  test('a deadline holds while the body is awaited', async () => {
    const gateway = await boot('enforce', (socket) => socket.write(`${head('Content-Length: 100')}{`), {
      defaults: { deadline: '300ms' },
    })

    expect(parseStatus(await exchangeRaw(gateway.port, post))).toBe(504)
  })

  test('a client that leaves while the body is awaited ends the attempt', async () => {
    const states: string[] = []
    const gateway = await boot('enforce', (socket) => {
      states.push('reached')
      socket.on('end', () => states.push('ended'))
      socket.write(`${head('Content-Length: 100')}{`)
    })
    const client = await rawClient(gateway.port)
    client.send(post)
    await eventually(() => states.length === 1)

    client.close()

    await eventually(() => states.includes('ended'))
    expect(states).toEqual(['reached', 'ended'])
  })
})
