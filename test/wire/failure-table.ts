import type { FailureKind } from '../../src/core/exchange/failures/failure-table.ts'
import type { Settings } from '../helpers/gateway.ts'
import {
  type FullBacklog,
  type MisbehavingUpstream,
  openFullBacklog,
  openMisbehavingUpstream,
} from '../helpers/misbehaving-upstream.ts'
import { isWholeResponse, rawClient } from '../helpers/raw-client.ts'
import { openRawUpstream, type RawUpstream } from '../helpers/upstream.ts'

/** The stage of all failures: a gateway, one with a bug, and misbehaving servers behind the first. */
export interface Stage {
  readonly port: number
  /** Every handle of this gateway throws. */
  readonly brokenPort: number
  readonly upstream: MisbehavingUpstream
}

/** What a client got. */
export interface ClientOutcome {
  readonly received: string
  readonly how: 'responded' | 'end' | 'reset' | 'left'
}

export interface FailureRow {
  readonly kind: FailureKind
  readonly provoked: string
  /** Sends a request; if its head can be read, its X-Request-Id is `id`. */
  readonly provoke: (stage: Stage, id: string) => Promise<ClientOutcome>
  /** The client's result; `cut`: a response that begins and breaks off; `silence`: the client has left. */
  readonly status: number | 'cut' | 'silence'
  /** Fields beyond those that every error has. */
  readonly fields?: Readonly<Record<string, string>>
  /** False for a response without a body. */
  readonly body?: boolean
  /** The cause in the access log; absent: none. */
  readonly cause?: RegExp
}

/**
 * Lists the kinds that other tests provoke: they take more than one request (`unavailable.test.ts`), a configuration of
 * their own (`auth.test.ts`, `idempotency.test.ts`), or a server besides (`tokens.test.ts`).
 */
export const provokedElsewhere: readonly FailureKind[] = [
  ...(['unauthenticated', 'forbidden', 'rate-limited', 'identity-unavailable', 'audit-unavailable'] as const),
  ...(['overloaded', 'no-healthy-endpoint', 'circuit-open', 'not-cached'] as const),
  ...(['invalid-request', 'unsupported-media-type', 'invalid-response'] as const),
  ...(['idempotency-key-missing', 'idempotency-key-invalid', 'idempotency-key-reused'] as const),
  ...(['request-in-progress', 'outcome-unknown', 'response-not-kept', 'idempotency-unavailable'] as const),
]

/** Everything behind the gateway of a {@link Stage}. */
export interface Backstage {
  readonly upstream: MisbehavingUpstream
  readonly settings: Settings
  /** What no response may contain: where things are. */
  readonly ports: readonly number[]
  close(): Promise<void>
}

/**
 * Opens the misbehaving servers, and configures a gateway in front of them: a group for each failure. `limit`: for all
 * waits; `headers`: for the head of a client.
 */
export const openBackstage = async (limit = '250ms', headers = limit): Promise<Backstage> => {
  const upstream = await openMisbehavingUpstream()
  const deaf: FullBacklog = await openFullBacklog()
  const plain: RawUpstream = await openRawUpstream((socket) => {
    socket.on('end', () => socket.end())
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  return {
    upstream,
    ports: [upstream.port, deaf.port, plain.port],
    settings: {
      listen: {
        ...{ hosts: ['gateway'], via: 'gateway-on-stage', maxTarget: '1KiB', maxHeaders: '2KiB', maxHeaderFields: 20 },
        timeouts: { headers, body: limit, keepAlive: '1s' },
      },
      defaults: { timeouts: { connect: limit, headers: limit, body: limit }, keepAlive: '500ms' },
      upstream: upstream.url,
      upstreams: {
        valuation: { endpoints: [upstream.url], timeouts: { headers: 'none' } },
        leads: 'http://127.0.0.1:1', // nothing listens on a port that no system gives away
        analysis: `http://127.0.0.1:${deaf.port}`,
        compliance: `https://127.0.0.1:${plain.port}`,
      },
      operations: {
        'financing.pre-approval': { state: 'reject' },
        'valuation.forecast': { deadline: limit },
        'inventory.sync': { maxBody: '1KiB' },
      },
    },
    close: async () => {
      await Promise.all([upstream.close(), deaf.close(), plain.close()])
    },
  }
}

/** Sends bytes and reads what comes until a whole response is there or the connection ends. */
const say = async (port: number, bytes: string, enough = isWholeResponse): Promise<ClientOutcome> => {
  const client = await rawClient(port)
  client.send(bytes)
  const received = await client.until(enough).catch(() => null)
  if (received === null) return client.ended()
  client.close()
  return { received, how: 'responded' }
}

/** Sends bytes and reads what comes until the connection ends. */
const sayUntilEnd = async (port: number, bytes: string): Promise<ClientOutcome> => {
  const client = await rawClient(port)
  client.send(bytes)
  return client.ended()
}

/**
 * Sends bytes, waits until the request has reached the upstream (or, when the gateway is late, has got a response), and
 * leaves.
 */
const sayAndLeave = async ({ port, upstream }: Stage, id: string, bytes: string): Promise<ClientOutcome> => {
  const client = await rawClient(port)
  client.send(bytes)
  await Promise.race([upstream.arrived(id), client.until(isWholeResponse)])
  client.socket.resetAndDestroy()
  return { received: client.received(), how: 'left' }
}

const head = (line: string, id: string, ...fields: string[]): string =>
  `${[line, 'Host: gateway', `X-Request-Id: ${id}`, ...fields].join('\r\n')}\r\n\r\n`

type Provoke = FailureRow['provoke']

/** Sends a whole request with this request line, fields and body. */
const request =
  (line: string, fields: readonly string[] = [], body = ''): Provoke =>
  ({ port }, id) =>
    say(port, head(line, id, ...fields) + body)

/** Sends bytes that are no request with a readable head. */
const bytes =
  (text: string): Provoke =>
  ({ port }) =>
    say(port, text)

const market = (misbehavior: string): Provoke => request(`GET /market/insights?${misbehavior} HTTP/1.1`)

const marketUntilEnd =
  (misbehavior: string): Provoke =>
  ({ port }, id) =>
    sayUntilEnd(port, head(`GET /market/insights?${misbehavior} HTTP/1.1`, id))

const post = (path: string, body: string, framing = `Content-Length: ${body.length}`): Provoke =>
  request(`POST ${path} HTTP/1.1`, [framing], body)
const inChunks = 'Transfer-Encoding: chunked'

const leave =
  (fields: readonly string[], body: string): Provoke =>
  (stage, id) =>
    sayAndLeave(stage, id, head('POST /valuation/score?stall HTTP/1.1', id, ...fields) + body)

const broken =
  (line: string): Provoke =>
  ({ brokenPort }, id) =>
    say(brokenPort, head(line, id))

const headRequest: Provoke = ({ port }, id) =>
  say(port, head('HEAD /market/insights HTTP/1.1', id), (text) => text.includes('\r\n\r\n'))

const get = 'GET /market/insights HTTP/1.1'
const connect = 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway:443\r\n\r\n'
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const allow = { fields: { allow: 'GET' } }
const overBound = { cause: /more than 4096 bytes/ }
const [risk, sync] = ['/risk/asset-valuation', '/inventory/sync?stall']
const otherCoding = 'Transfer-Encoding: x, chunked'
const tenThousand = `X: ${'x'.repeat(10_000)}`
const closes = { fields: { connection: 'close' } }

type More = Pick<FailureRow, 'fields' | 'body' | 'cause'>
type Row = readonly [FailureKind, provoked: string, FailureRow['status'], Provoke, More?]

// The tests of the parsers have all malformed requests: here is one of each sort.
const rows: readonly Row[] = [
  ['bad-request', 'no Host', 400, bytes(`${get}\r\n\r\n`)],
  ['bad-request', 'a fragment', 400, request('GET /market/insights#x HTTP/1.1')],
  ['bad-request', 'no request line', 400, bytes('hello\r\n\r\n'), { cause: /method/ }],
  ['bad-request', 'a space in a name', 400, request(get, ['Bad Name: x']), { cause: /0x20 in a field name/ }],
  ['misdirected', 'another Host', 421, bytes(`${get}\r\nHost: another\r\n\r\n`)],
  ['misdirected', 'another host in the target', 421, request('GET http://another/market/insights HTTP/1.1')],
  ['misdirected', 'no Host on HTTP/1.0', 421, bytes('GET /x HTTP/1.0\r\n\r\n')],
  ['not-found', 'an unknown path', 404, request('GET /health HTTP/1.1')],
  ['method-not-allowed', 'another method', 405, request('POST /market/insights HTTP/1.1'), allow],
  ['method-not-allowed', 'HEAD', 405, headRequest, { ...allow, body: false }],
  ['method-not-allowed', 'CONNECT', 405, bytes(connect), { fields: { allow: 'GET, POST', connection: 'close' } }],
  ['unsupported-coding', 'a coding before chunked', 501, post(risk, '0\r\n\r\n', otherCoding), closes],
  ['unsupported-version', 'HTTP/2.0 in a request line', 505, request('GET /market/insights HTTP/2.0')],
  ['content-too-large', 'a length over the bound', 413, post(sync, 'x'.repeat(2000))],
  ['content-too-large', 'chunks over it', 413, post(sync, chunk('x'.repeat(1600)), inChunks), closes],
  ['header-too-large', 'too many fields', 431, request(get, Array<string>(30).fill('X-Many: 1'))],
  ['header-too-large', 'fields over the bound', 431, request(get, [`X-Large: ${'x'.repeat(2100)}`])],
  ['header-too-large', 'fields over the bound of the parser', 431, request(get, [tenThousand]), overBound],
  ['uri-too-long', 'a target over the bound', 414, market('x'.repeat(1100))],
  ['uri-too-long', 'a target over the bound of the parser', 414, market('x'.repeat(10_000)), overBound],
  ['request-timeout', 'a head that never ends', 408, bytes(`${get}\r\nHost: gateway\r\n`)],
  ['request-timeout', 'a body that never ends', 408, post(`${risk}?stall`, 'abc', 'Content-Length: 9'), closes],
  ['request-timeout', 'chunks that never end', 408, post(`${risk}?stall`, chunk('abc'), inChunks), closes],
  ['expectation-failed', 'an unknown expectation', 417, request(get, ['Expect: the unexpected'])],
  ['loop', 'our own Via', 508, request(get, ['Via: 1.1 gateway-on-stage'])],
  ['rejected-by-operator', 'reject', 503, post('/financing/pre-approval', 'abc'), { fields: { 'retry-after': '60' } }],
  ['connect-failed', 'no listener', 502, request('GET /leads/pipeline HTTP/1.1'), { cause: /ECONNREFUSED/ }],
  ['connect-timeout', 'a backlog that is full', 504, request('GET /analysis/esg-grant HTTP/1.1')],
  ['tls-failed', 'no TLS', 502, request('GET /compliance/audit-trail HTTP/1.1'), { cause: /SSL|TLS/i }],
  ['reset-before-headers', 'a reset', 502, market('reset'), { cause: /ECONNRESET/ }],
  ['reset-before-headers', 'an end', 502, market('end'), { cause: /closed/ }],
  ['reset-before-headers', 'an end within the head', 502, market('end-in-head'), { cause: /./ }],
  ['headers-timeout', 'an upstream that says nothing', 504, market('stall')],
  ['headers-timeout', 'one that says nothing to a POST', 504, post(`${risk}?stall`, 'abc')],
  ['bad-response', 'bytes that are no HTTP', 502, market('unparsable'), { cause: /./ }],
  ['bad-response', 'a coding other than chunked', 502, market('coding-gzip'), { cause: /./ }],
  ['bad-response', 'a 101 that nobody asked for', 502, market('switching'), { cause: /./ }],
  ['bad-response', 'a head of 100 KB', 502, market('oversized'), { cause: /./ }],
  ['deadline-exceeded', 'an upstream that says nothing', 504, post('/valuation/forecast?stall', 'abc')],
  ['truncated', 'a body shorter than its length', 'cut', marketUntilEnd('short-length'), { cause: /./ }],
  ['truncated', 'chunks without the last one', 'cut', marketUntilEnd('short-chunks'), { cause: /./ }],
  ['truncated', 'a chunk size that is no number', 'cut', marketUntilEnd('bad-chunk'), { cause: /./ }],
  ['truncated', 'a reset within the body', 'cut', marketUntilEnd('reset-in-body'), { cause: /ECONNRESET/ }],
  ['truncated', 'a body that comes to a halt', 'cut', marketUntilEnd('stall-in-body')],
  ['client-gone', 'a client that leaves while it waits', 'silence', leave([], '')],
  ['client-gone', 'a client that leaves while it sends', 'silence', leave(['Content-Length: 1000000'], 'abc')],
  ['internal', 'a layer that throws', 500, broken(get), { cause: /planted/ }],
  ['internal', 'a layer that rejects', 500, broken('POST /valuation/score HTTP/1.1'), { cause: /planted/ }],
]

/** Lists a provocation or several for every kind of failure that is built. */
export const provokedFailures: readonly FailureRow[] = rows.map(([kind, provoked, status, provoke, more]) => ({
  ...{ kind, provoked, status, provoke },
  ...more,
}))
