import type { ServerResponse } from 'node:http'
import { describe, expect } from 'vitest'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { type RawClient, rawClient } from '../helpers/raw-client.ts'
import { headerValues, parseResponse } from '../helpers/raw-response.ts'
import { sample, testAndDrill } from '../helpers/speed.ts'
import type { ReceivedRequest } from '../helpers/upstream.ts'

// The attack: a client sends odd requests, one behind the other on one connection, so that the gateway and the upstream
// disagree on where one ends (RFC 9112 §11.2). Then a part of a body is a request, or another client gets a response
// that was meant for this one. Every request names its sender in its target, in a field and all over its body.

/** A piece of a client's connection: one request, or what passes for one. `M` stands for its name. */
interface Piece {
  readonly name: string
  readonly bytes: string
  /** The statuses that it gets, interim ones included. */
  readonly statuses: readonly number[]
  /** Whether nothing behind it is a request any more. */
  readonly isLast?: boolean
  readonly method?: string
}

const field = 'X-Sender: M\r\n'
const head = (line: string, more = ''): string => `${line}\r\nHost: a\r\n${field}${more}\r\n`
const get = (more = '', version = '1.1'): string => head(`GET /market/insights?M HTTP/${version}`, more)
const body = (bytes: number): string => '<M>'.repeat(Math.ceil(bytes / 3)) // names are one character
const chunk = (content: string, extension = ''): string =>
  `${content.length.toString(16)}${extension}\r\n${content}\r\n`
const postChunked = (chunks: string, trailers = ''): string =>
  `${head('POST /valuation/score?M HTTP/1.1', 'Transfer-Encoding: chunked\r\n')}${chunks}0\r\n${trailers}\r\n`
const withBody = (content: string, more = '', path = '/valuation/score'): string =>
  head(`POST ${path}?M HTTP/1.1`, `${more}Content-Length: ${content.length}\r\n`) + content
const post = (bytes: number, more = '', path = '/valuation/score'): string => withBody(body(bytes), more, path)
/** What a parser that has lost its place would take for a request of another client. */
const smuggled = 'GET /market/insights?Z HTTP/1.1\r\nHost: a\r\nX-Sender: Z\r\n\r\n'

const piece = (name: string, bytes: string, ...statuses: readonly number[]): Piece => ({ name, bytes, statuses })

const going: readonly Piece[] = [
  piece('a GET', get(), 200),
  piece('a GET with a body', `${get('Content-Length: 5\r\n')}<M><M`, 400),
  piece('a GET with no chunk but the last', `${get('Transfer-Encoding: chunked\r\n')}0\r\n\r\n`, 200),
  piece('empty lines and a GET', `\r\n\r\n${get()}`, 200),
  piece('an unchanged one', get('X-Status: 304\r\n'), 304),
  piece('a large response', get('X-Bytes: 150000\r\n'), 200),
  piece('a response in chunks', get('X-Chunks: 5\r\n'), 200),
  piece('a POST', post(90), 200),
  piece('a POST of 70 KB', post(70_000), 200),
  piece('a POST with a request in its body', withBody(smuggled.replaceAll('Z', 'M')), 200),
  piece('a POST that waits for 100', post(30, 'Expect: 100-continue\r\n'), 100, 200),
  piece('chunks', postChunked(chunk('<M>') + chunk(body(3000))), 200),
  piece('chunk extensions', postChunked(chunk('<M>', ';a="\\";0"') + chunk('<M>', ';0')), 200),
  piece('trailers', postChunked(chunk('<M>'), 'X-Sender: Z\r\nHost: z\r\n'), 200),
  piece('a body of 30 KB for an unknown path', post(30_000, '', '/nowhere'), 404),
  piece('a wrong method with a body', post(90, '', '/market/insights'), 405),
  { ...piece('HEAD', get().replace('GET', 'HEAD'), 405), method: 'HEAD' },
  piece('another host', get().replace('Host: a', 'Host: a\r\nHost: b'), 400),
]

const connect = head('CONNECT a:80 HTTP/1.1', `Content-Length: ${smuggled.length}\r\n`)
const last: readonly Piece[] = [
  piece('Connection: close', get('Connection: close\r\n'), 200),
  piece('HTTP/1.0', get('', '1.0'), 200),
  piece('CONNECT with a body', connect + smuggled, 405),
  piece('a bare LF', get().replaceAll('\r\n', '\n'), 400),
  piece('a CR that hides a field', get('X-A: b\rX-Sender: Z\r\n'), 400),
  piece('a CR that hides a coding', withBody(`0\r\n\r\n${smuggled}`, 'X-A: b\rTransfer-Encoding: chunked\r\n'), 400),
  piece('a list of lengths', get('Content-Length: 0, 60\r\n') + smuggled, 400),
  piece('a coding that is obscured', get('Transfer-Encoding: chunked, x\r\n') + smuggled, 400),
  piece('two lengths', withBody(smuggled, 'Content-Length: 0\r\n'), 400),
  piece('a length and chunks', withBody(`0\r\n\r\n${smuggled}`, 'Transfer-Encoding: chunked\r\n'), 400),
  piece('another coding', get('Transfer-Encoding: gzip, chunked\r\n'), 501),
  piece('a chunk longer than its size', postChunked('3\r\n<M>x\r\n'), 400),
  piece('a length among the trailers', postChunked(chunk('<M>'), 'Content-Length: 3\r\n'), 400),
  piece('chunks for an unknown path', postChunked(chunk(smuggled)).replace('/valuation', '/no'), 404),
  piece('an unknown path that waits for 100', post(90, 'Expect: 100-continue\r\n', '/nowhere'), 404),
].map((each) => ({ ...each, isLast: true }))

// Each piece between others that go on; and each that is the last, behind every kind of them, with more behind it.
const first = (pieces: readonly Piece[], nth: number): Piece => pieces[nth % pieces.length] as Piece
const sequences: readonly (readonly Piece[])[] = [
  ...going.flatMap((each, i) => [1, 9].map((step) => [first(going, i + step), each, first(going, 2 * i + step)])),
  ...last.flatMap((each, i) => [0, 7].map((step) => [first(going, i + step), each, first(going, i + step + 1)])),
  going.map((_, i) => first(going, i * 5)),
]

/** Responds as the request asks: its own name, in a field and all over the body. */
const echo = ({ method, url, rawHeaders }: ReceivedRequest, response: ServerResponse): void => {
  const asked = (name: string): number => Number(rawHeaders[rawHeaders.indexOf(name) + 1] ?? 0)
  const sender = url.split('?')[1] ?? '?'
  const status = rawHeaders.includes('X-Status') ? asked('X-Status') : 200
  const own = (bytes: number): string => `<${sender}>`.repeat(Math.ceil(bytes / 3))
  if (rawHeaders.includes('X-Chunks')) {
    response.writeHead(status, ['X-Sender', sender, 'X-Method', method, 'Transfer-Encoding', 'chunked'])
    for (let n = 0; n < asked('X-Chunks'); n++) response.write(own(700))
    return void response.end()
  }
  const content = status === 200 ? own(rawHeaders.includes('X-Bytes') ? asked('X-Bytes') : 30) : ''
  const length = status === 200 ? ['Content-Length', String(content.length)] : []
  response.writeHead(status, ['X-Sender', sender, 'X-Method', method, ...length])
  response.end(content)
}

/** Names what is wrong with what a client was given for its pieces, or null. */
const findFault = (received: string, pieces: readonly Piece[], names: readonly string[]): string | null => {
  let rest = received
  for (const [nth, each] of pieces.entries()) {
    for (const status of each.statuses) {
      const next = rest === '' ? null : parseResponse(rest, each.method ?? 'GET')
      if (next === null)
        return `${nth}, ${each.name}: ${status} is missing, and there is ${JSON.stringify(rest.slice(0, 200))}`
      rest = rest.slice(next.taken)
      const { response } = next
      if (response.status !== status) return `${nth}, ${each.name}: ${response.status} in place of ${status}`
      if (status >= 400 || status === 100) continue
      if (headerValues(response, 'x-sender').join() !== names[nth]) return `${nth}, ${each.name}: of another sender`
      if (response.body.replaceAll(`<${names[nth]}>`, '') !== '') return `${nth}, ${each.name}: another body`
    }
    if (each.isLast) break
  }
  return rest === '' ? null : `more than was asked for: ${JSON.stringify(rest.slice(0, 200))}`
}

const isUnfinished = (fault: string | null): boolean => fault?.includes(' is missing, ') === true

/** Lists the requests that name more than one sender, or none of these. */
const findForeign = (requests: readonly ReceivedRequest[], names: readonly string[]): string[] =>
  requests
    .map(({ url, rawHeaders, body }) => {
      const inFields = rawHeaders.filter((_, i) => rawHeaders[i - 1] === 'X-Sender')
      // A chunk extension or a smuggled request in a body names the same.
      const inBody = body.toString('latin1').match(/<.>/g) ?? []
      return [...new Set([url.split('?')[1] ?? 'none', ...inFields, ...inBody.map((name) => name.charAt(1))])].join()
    })
    .filter((senders) => !names.includes(senders))

type Send = (client: RawClient, bytes: string) => Promise<void>

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Sends in so many pieces, of unlike sizes: no boundary of a request, or of a part of it, is that of a piece. */
const sendInPieces =
  (largest: number): Send =>
  async (client, bytes) => {
    for (let at = 0, nth = 1; at < bytes.length && !client.socket.destroyed; nth++) {
      const size = Math.max(1, (nth * 7919) % largest)
      client.send(bytes.slice(at, at + size))
      at += size
      await turn()
    }
  }

const ways: readonly (readonly [how: string, send: Send, offset: number])[] = [
  ['in one write', async (client, bytes) => client.send(bytes), 0],
  ['in small pieces', sendInPieces(300), 1],
  ['in large pieces', sendInPieces(9000), 2],
]

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYabcdefghijklmnopqrstuvwxy'

describe.each(ways)('odd requests %s', (_, send, offset) => {
  // One connection, so that all clients' requests are behind one another there too.
  const site = liveGatewayForAll({ defaults: { maxConnections: 1 } })
  const cases = sequences.map((pieces) => [pieces.map(({ name }) => name).join('; '), pieces] as const)

  testAndDrill.each(sample(cases, offset))(
    'get each client its own responses, and no other: %s',
    async (__, pieces) => {
      site.respondWith(echo)
      // Three clients in turn, and two that go on asking on connections of their own meanwhile.
      const ask = piece('a GET', get(), 200)
      const others = await Promise.all(['<', '>'].map(async (name) => ({ name, client: await rawClient(site.port) })))
      const faults: (string | null)[] = []
      const used: string[] = ['<', '>']
      for (let round = 0; round < 3; round++) {
        const names = pieces.map((_piece, nth) => letters.charAt((round * pieces.length + nth) % letters.length))
        const client = await rawClient(site.port)
        for (const each of others) each.client.send(ask.bytes.replaceAll('M', each.name))
        await send(client, pieces.map((each, nth) => each.bytes.replaceAll('M', names[nth] as string)).join(''))
        if (pieces.some(({ isLast }) => isLast)) await client.ended()
        else await client.until((received) => !isUnfinished(findFault(received, pieces, names)))
        faults.push(findFault(client.received(), pieces, names))
        client.close()
        used.push(...names)
      }
      for (const { name, client } of others) {
        await client.until((received) => findFault(received, [ask, ask, ask], [name, name, name]) === null)
        client.close()
      }

      expect(faults).toEqual([null, null, null])
      expect(findForeign(site.received(), used)).toEqual([])
    },
  )
})
