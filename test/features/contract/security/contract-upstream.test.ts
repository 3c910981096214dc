/** An upstream that lies, before a gateway that holds responses to a contract. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { onRequest, openRawUpstream, type RawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const score = sampleContract.paths['/valuation/score']
const document = {
  ...sampleContract,
  paths: {
    '/valuation/score': score,
    '/valuation/forecast': score,
    '/inventory/sync': score,
    '/risk/asset-valuation': score,
  },
}

let upstream: RawUpstream
let gateway: TestGateway
let answer: (socket: Socket) => void = () => {}

const file = contractFile(document, afterAll)

beforeAll(async () => {
  upstream = await openRawUpstream((socket) => onRequest(socket, () => answer(socket)))
  gateway = await openGateway({
    upstream: upstream.url,
    upstreams: { inventory: { endpoints: [upstream.url], timeouts: { body: '200ms' } } },
    contract: { file, request: 'off', response: 'enforce', maxBody: '64KiB' },
    operations: {
      'valuation.forecast': { contract: { response: 'report' } },
      'risk.asset-valuation': { deadline: '300ms' },
    },
  })
  return async () => {
    await gateway.gateway.close()
    await upstream.close()
  }
})

const post = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
const head = (...fields: readonly string[]): string =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...fields, '', ''].join('\r\n')

/** Sends a request that the upstream answers with bytes of the test's choosing. */
const send = (path: string, answering: (socket: Socket) => void): Promise<string> => {
  answer = answering
  return exchangeRaw(gateway.port, post(path))
}

/** Returns the line of the log of the last request. */
const lastLine = async (from: number) => {
  await eventually(() => gateway.lines.slice(from).some(({ msg }) => msg === 'exchange'))
  return gateway.lines.slice(from).find(({ msg }) => msg === 'exchange')
}

describe.each([
  ['report', '/valuation/forecast'],
  ['enforce', '/valuation/score'],
])('%s', (mode, path) => {
  test('a body far beyond the bound passes, whole and unchecked', async () => {
    const body = `{"grade":"Z","pad":"${'x'.repeat(1024 ** 2)}"}`

    const text = await send(path, (socket) => socket.write(head(`Content-Length: ${body.length}`) + body))

    expect(parseStatus(text)).toBe(200)
    expect(text.endsWith(body)).toBe(true)
  })

  test('a body without an end streams, at the pace of the client, who leaves', async () => {
    const sockets: Socket[] = []
    answer = (socket) => {
      sockets.push(socket)
      socket.write(head('Transfer-Encoding: chunked'))
      const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk));
        socket.once('drain', more)
      }
      more()
    }
    const client = await rawClient(gateway.port)
    client.send(post(path))
    await client.until((text) => text.length > 500_000)

    client.close()

    await eventually(() => sockets[0]?.destroyed === true)
  })

  test('a length that is not reached is no whole response', async () => {
    const from = gateway.lines.length

    const received = await send(path, (socket) => socket.end(`${head('Content-Length: 100')}{"grade":"A"}`))

    // Enforced, nothing has gone out yet; reported, the part has, and the connection ends before the rest.
    if (mode === 'enforce') expect(received).toContain('502 Bad Gateway')
    else expect(received.endsWith('{"grade":"A"}')).toBe(true)
    expect((await lastLine(from))?.failure).toBe('truncated')
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
    const from = gateway.lines.length

    const text = await send('/valuation/score', (socket) => socket.write(bytes))

    expect(parseStatus(text)).toBe(502)
    expect(text).not.toMatch(/errors|planted/)
    const line = await lastLine(from)
    expect([line?.failure, line?.fault, line?.reason]).toEqual(['invalid-response', 'upstream', reason])
    expect(JSON.stringify(line)).not.toContain('planted')
  })

  test('a body that drips is given up after timeouts.body', async () => {
    const from = gateway.lines.length

    await send('/inventory/sync', (socket) => socket.write(`${head('Content-Length: 100')}{`))

    const line = await lastLine(from)
    expect([line?.failure, line?.reason]).toEqual(['truncated', 'answer-stalled'])
  })

  test('a deadline holds while the body is awaited', async () => {
    const text = await send('/risk/asset-valuation', (socket) => socket.write(`${head('Content-Length: 100')}{`))

    expect(parseStatus(text)).toBe(504)
  })

  test('a client that leaves while the body is awaited ends the attempt', async () => {
    const states: string[] = []
    answer = (socket) => {
      states.push('reached')
      socket.on('end', () => states.push('ended'))
      socket.write(`${head('Content-Length: 100')}{`)
    }
    const client = await rawClient(gateway.port)
    client.send(post('/valuation/score'))
    await eventually(() => states.length === 1)

    client.close()

    await eventually(() => states.includes('ended'))
    expect(states).toEqual(['reached', 'ended'])
  })
})
