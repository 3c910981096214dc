import { describe, expect, test } from 'vitest'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { rawUpstream } from '../../helpers/upstream.ts'
import { bareGet } from '../../helpers/wire.ts'

// The attack: a client sends a GET whose content is another request. RFC 9110 §9.3.1 gives that content no meaning. A
// back end that does not read it, and keeps the connection, takes it for the next request: it is served though it may
// be none of the nine, and another client gets its response.

/**
 * Opens a back end that never reads the content of a GET. Each response has the request's method and target. It keeps
 * connection unless it is asked not to, and passes over lines that begin no request. `heads` is what it took for one.
 */
const openUnreadingBackEnd = async () => {
  const heads: string[] = []
  const { url } = await rawUpstream((socket) => {
    let text = ''
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
  })
  return { url, heads }
}

// A harmless one, whole, and one whose last field takes in the head of the request behind it.
const smuggled = [
  'GET /market/internal?attack HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /market/internal?attack HTTP/1.1\r\nHost: a\r\nX-Rest: ',
] as const

/** Sends a GET with content. Returns its status. */
type Attack = (port: number, content: string) => Promise<number>

const attackHttp1 =
  (toBody: (content: string) => string): Attack =>
  async (port, content) =>
    parseStatus(await exchangeRaw(port, `GET /market/insights?attacker HTTP/1.1\r\nHost: a\r\n${toBody(content)}`))

const attackHttp2 =
  (toFields: (content: string) => Record<string, string>): Attack =>
  async (port, content) => {
    const session = dialHttp2(port)
    const fields = { ':path': '/market/insights?attacker', ...toFields(content) }
    const { status } = await requestHttp2(session, fields, content)
    session.destroy()
    return status
  }

const inChunks = (content: string): string => `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`

const attacks: readonly (readonly [how: string, isHttp2: boolean, attack: Attack])[] = [
  ['HTTP/1.1 with a length', false, attackHttp1((content) => `Content-Length: ${content.length}\r\n\r\n${content}`)],
  ['HTTP/1.1 in chunks', false, attackHttp1((content) => `Transfer-Encoding: chunked\r\n\r\n${inChunks(content)}`)],
  ['HTTP/2 with a length', true, attackHttp2((content) => ({ 'content-length': `${content.length}` }))],
  ['HTTP/2 without a length', true, attackHttp2(() => ({}))],
]

describe.each(attacks)('a GET whose content is a request, over %s,', (_, isHttp2, attack) => {
  // That it is rejected elsewhere is `test/whole/wire/get-content.test.ts`'s.
  test.skipIf(isHttp2 && missing !== null)('and is forwarded, is one to a back end that reads no content', async () => {
    const upstream = await openUnreadingBackEnd()
    // One connection, so that all requests are behind one another.
    const settings = { upstream: upstream.url, listen: { getContent: 'forward' }, defaults: { maxConnections: 1 } }
    const { port } = await (isHttp2 ? bootHttp2(settings) : bootGateway(settings))
    const session = isHttp2 ? dialHttp2(port) : null
    const ask = async (target: string): Promise<string> => {
      if (session !== null) return String((await requestHttp2(session, { ':path': target })).body)
      return (await exchangeRaw(port, bareGet(target))).split('\r\n\r\n')[1] ?? ''
    }
    const statuses: number[] = []

    for (const [round, content] of smuggled.entries()) {
      const attacked = attack(port, content)
      // Some are under way together with it, and some come behind it.
      for (const half of ['beside', 'behind']) {
        if (half === 'behind') statuses.push(await attacked)
        const targets = [1, 2].map((nth) => `/market/insights?${round}-${half}-${nth}`)
        expect(await Promise.all(targets.map(ask))).toEqual(targets.map((target) => `GET ${target}`))
      }
    }

    expect(statuses).toEqual([200, 200])
    expect(upstream.heads.filter((head) => !head.startsWith('GET /market/insights?'))).toEqual([])
    expect(upstream.heads).toHaveLength(2 * 5)
  })
})
