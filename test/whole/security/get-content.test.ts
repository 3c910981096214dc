import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { bootGateway, type TestGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { type RawUpstream, rawUpstream } from '../../helpers/upstream.ts'

// The attack: a client sends a GET whose content is another request. RFC 9110 §9.3.1 gives that content no meaning. A
// back end that does not read it, and keeps the connection, takes it for the next request: it is served though it may
// be none of the nine, and another client gets its response.

interface UnreadingBackEnd extends RawUpstream {
  /** The heads that it has taken for requests. */
  readonly heads: readonly string[]
}

/**
 * Opens a back end that never reads the content of a GET. It answers each request with its method and target, keeps the
 * connection unless it is asked not to, and passes over lines that begin no request.
 */
const openUnreadingBackEnd = async (): Promise<UnreadingBackEnd> => {
  const heads: string[] = []
  const serve = (socket: Socket): void => {
    let text = ''
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      for (;;) {
        text = text.replace(/^(?!(?:GET|POST) )[^\n]*\n/, '')
        const end = text.indexOf('\r\n\r\n')
        if (end === -1) break
        const head = text.slice(0, end)
        if (!/^(?:GET|POST) /.test(head)) continue
        text = text.slice(end + 4)
        heads.push(head)
        const body = head.split(' ', 2).join(' ')
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
        if (/^connection: *close/im.test(head)) return void socket.end()
      }
    })
  }
  return Object.assign(await rawUpstream(serve), { heads })
}

// A harmless one, whole, and one whose last field takes in the head of the request behind it.
const smuggled = [
  'GET /market/internal?attack HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /market/internal?attack HTTP/1.1\r\nHost: a\r\nX-Rest: ',
] as const

/** Sends a GET with content. Returns its status. */
type Attack = (gateway: TestGateway, content: string) => Promise<number>

const attackHttp1 =
  (toBody: (content: string) => string): Attack =>
  async ({ port }, content) =>
    parseStatus(await exchangeRaw(port, `GET /market/insights?attacker HTTP/1.1\r\nHost: a\r\n${toBody(content)}`))

const attackHttp2 =
  (more: Record<string, string>): Attack =>
  async ({ port }, content) => {
    const session = dialHttp2(port)
    const lengths = 'content-length' in more ? { 'content-length': String(content.length) } : {}
    const { status } = await requestHttp2(session, { ':path': '/market/insights?attacker', ...lengths }, content)
    session.destroy()
    return status
  }

const attacks: readonly (readonly [how: string, isHttp2: boolean, attack: Attack])[] = [
  [
    'over HTTP/1.1 with a length',
    false,
    attackHttp1((content) => `Content-Length: ${content.length}\r\n\r\n${content}`),
  ],
  [
    'over HTTP/1.1 in chunks',
    false,
    attackHttp1(
      (content) => `Transfer-Encoding: chunked\r\n\r\n${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`,
    ),
  ],
  ['over HTTP/2 with a length', true, attackHttp2({ 'content-length': '' })],
  ['over HTTP/2 without a length', true, attackHttp2({})],
]

// 32 victims of the attacks that are rejected, and as many of those that are forwarded.
const rounds = 2
const victimsPerRound = 4

describe.each(attacks)('a GET whose content is a request, %s,', (_, isHttp2, attack) => {
  describe.each([
    ['reject', 400],
    ['forward', 200],
  ])('with listen.getContent: %s', (getContent, status) => {
    test.skipIf(isHttp2 && missing !== null)('is one request to a back end that reads no content', async () => {
      const upstream = await openUnreadingBackEnd()
      // One connection, so that all requests are behind one another.
      const settings = { upstream: upstream.url, listen: { getContent }, defaults: { maxConnections: 1 } }
      const gateway = await (isHttp2 ? bootHttp2(settings) : bootGateway(settings))
      const session = isHttp2 ? dialHttp2(gateway.port) : null
      const ask = async (target: string): Promise<string> => {
        if (session !== null) return String((await requestHttp2(session, { ':path': target })).body)
        return (await exchangeRaw(gateway.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)).split('\r\n\r\n')[1] ?? ''
      }
      const statuses: number[] = []
      const wrong: string[] = []

      for (let round = 0; round < rounds; round++) {
        const attacked = attack(gateway, smuggled[round % 2] as string)
        // Some are under way together with it, and some come behind it.
        for (const half of [0, 1]) {
          if (half === 1) statuses.push(await attacked)
          const targets = Array.from(
            { length: victimsPerRound / 2 },
            (__, nth) => `/market/insights?${round}-${half}-${nth}`,
          )
          const bodies = await Promise.all(targets.map(ask))
          wrong.push(...bodies.filter((body, nth) => body !== `GET ${targets[nth]}`))
        }
      }

      expect(wrong).toEqual([])
      expect(statuses).toEqual(Array.from({ length: rounds }, () => status))
      expect(upstream.heads.filter((head) => !head.startsWith('GET /market/insights?'))).toEqual([])
      expect(upstream.heads).toHaveLength(rounds * (victimsPerRound + (status === 200 ? 1 : 0)))
    })
  })
})
