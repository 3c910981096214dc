/** An upstream that lies, before a gateway that holds responses to a contract. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { onRequest, openRawUpstream } from '../../../helpers/upstream.ts'

const score = sampleContract.paths['/valuation/score']
const scoring = ['/valuation/score', '/valuation/forecast', '/inventory/sync', '/risk/asset-valuation']
const paths = Object.fromEntries(scoring.map((path) => [path, score]))
const file = contractFile({ ...sampleContract, paths }, afterAll)

let gateway: TestGateway
let respond: (socket: Socket) => void = () => {}

beforeAll(async () => {
  const upstream = await openRawUpstream((socket) => onRequest(socket, () => respond(socket)))
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
const ofLength = (body: string): string => head(`Content-Length: ${body.length}`) + body

/** Sends a request; the upstream responds with the test's bytes. Returns the line of the log too. */
const send = async (path: string, responding: (socket: Socket) => void) => {
  respond = responding
  const from = gateway.lines.length
  const find = () => gateway.lines.slice(from).find(({ msg }) => msg === 'exchange')
  const text = await exchangeRaw(gateway.port, post(path))
  await expect.poll(find).toBeDefined()
  return { text, status: parseStatus(text), line: find() }
}

describe.each([
  ['report', '/valuation/forecast'],
  ['enforce', '/valuation/score'],
])('%s', (mode, path) => {
  test('a body far beyond the bound passes, whole and unchecked', async () => {
    const body = `{"grade":"Z","pad":"${'x'.repeat(1024 ** 2)}"}`

    const { text, status } = await send(path, (socket) => socket.write(ofLength(body)))

    expect([status, text.endsWith(body)]).toEqual([200, true])
  })

  test('a body without an end streams, at the pace of the client, who leaves', async () => {
    const sockets: Socket[] = []
    respond = (socket) => {
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

    await expect.poll(() => sockets[0]?.destroyed).toBe(true)
  })

  test('a length that is not reached is no whole response', async () => {
    const { text, line } = await send(path, (socket) => socket.end(`${head('Content-Length: 100')}{"grade":"A"}`))

    // Enforced, nothing has gone out yet; reported, the part has, and the connection ends before the rest.
    expect(text).toMatch(mode === 'enforce' ? /502 Bad Gateway/ : /\{"grade":"A"\}$/)
    expect(line?.failure).toBe('truncated')
  })
})

describe('enforced', () => {
  const levels = `${head('Transfer-Encoding: chunked')}c350\r\n${'['.repeat(50_000)}\r\n0\r\n\r\n`

  test.each<[string, string, 'head' | 'body']>([
    ['another status', 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n', 'head'],
    ['no type', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', 'head'],
    ['two types', `${head('Content-Type: text/html', 'Content-Length: 13')}{"grade":"A"}`, 'head'],
    ['a member twice', ofLength('{"grade":"A","grade":"B"}'), 'body'],
    ['50,000 levels', levels, 'body'],
    ['a planted value', ofLength('{"grade":"planted"}'), 'body'],
    ['nothing', ofLength(''), 'body'],
  ])('%s becomes 502, and no byte of it goes out or into the log', async (_, bytes, part) => {
    const { text, status, line } = await send('/valuation/score', (socket) => socket.write(bytes))

    expect(status).toBe(502)
    expect(text).not.toMatch(/errors|planted/)
    expect(line).toMatchObject({ failure: 'invalid-response', fault: 'upstream', reason: `contract-response-${part}` })
    expect(JSON.stringify(line)).not.toContain('planted')
  })

  const begun = (socket: Socket) => void socket.write(`${head('Content-Length: 100')}{`)

  test('a body that drips is given up after timeouts.body, and a deadline holds while it is awaited', async () => {
    expect((await send('/inventory/sync', begun)).line).toMatchObject({
      failure: 'truncated',
      reason: 'response-stalled',
    })
    expect((await send('/risk/asset-valuation', begun)).status).toBe(504)
  })

  test('a client that leaves while the body is awaited ends the attempt', async () => {
    const states: string[] = []
    respond = (socket) => {
      states.push('reached')
      socket.on('end', () => states.push('ended'))
      begun(socket)
    }
    const client = await rawClient(gateway.port)
    client.send(post('/valuation/score'))
    await expect.poll(() => states).toEqual(['reached'])

    client.close()

    await expect.poll(() => states).toEqual(['reached', 'ended'])
  })
})
