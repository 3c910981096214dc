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

/** The place where failures are provoked: a gateway, one with a bug, and what misbehaves behind the first. */
export interface Stage {
  readonly port: number
  /** Every handle of this gateway throws. */
  readonly brokenPort: number
  readonly upstream: MisbehavingUpstream
}

/** What a client got. */
export interface ClientOutcome {
  readonly received: string
  readonly how: 'answered' | 'end' | 'reset' | 'left'
}

export interface FailureRow {
  readonly kind: FailureKind
  readonly provoked: string
  /** Sends a request; where it has a head that can be read, its X-Request-Id is `id`. */
  readonly provoke: (stage: Stage, id: string) => Promise<ClientOutcome>
  /** What the client gets; `cut`: a response that begins and breaks off; `silence`: it has left. */
  readonly status: number | 'cut' | 'silence'
  /** Fields beyond those that every error has. */
  readonly fields?: Readonly<Record<string, string>>
  /** False for a response without a body. */
  readonly body?: boolean
  /** What the access log says of the cause; absent: nothing. */
  readonly cause?: RegExp
}

/**
 * Lists the kinds that other tests provoke: they take more than one request (`unavailable.test.ts`), a configuration of
 * their own (`auth.test.ts`, `idempotency.test.ts`), or a server besides (`tokens.test.ts`).
 */
export const provokedElsewhere: readonly FailureKind[] = [
  'unauthenticated',
  'forbidden',
  'rate-limited',
  'identity-unavailable',
  'audit-unavailable',
  'overloaded',
  'no-healthy-endpoint',
  'circuit-open',
  'not-cached',
  'invalid-request',
  'unsupported-media-type',
  'invalid-response',
  'idempotency-key-missing',
  'idempotency-key-invalid',
  'request-in-progress',
  'outcome-unknown',
  'response-not-kept',
  'idempotency-key-reused',
  'idempotency-unavailable',
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
 * Opens the servers that misbehave, and says how a gateway is set up in front of them: a group, a way to fail. `limit`
 * is for all that is waited for, `headers` for the head of a client.
 */
export const openBackstage = async ({
  limit = '250ms',
  headers = limit,
}: {
  readonly limit?: string
  readonly headers?: string
} = {}): Promise<Backstage> => {
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
        hosts: ['gateway'],
        via: 'gateway-on-stage',
        maxTarget: '1KiB',
        maxHeaders: '2KiB',
        maxHeaderFields: 20,
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
        'financing.pre-approval': { state: 'refuse' },
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
  return { received, how: 'answered' }
}

/** Sends bytes and reads what comes until the connection ends. */
const sayUntilEnd = async (port: number, bytes: string): Promise<ClientOutcome> => {
  const client = await rawClient(port)
  client.send(bytes)
  return client.ended()
}

/**
 * Sends bytes, waits until the request has reached the upstream (or, when the gateway is late, has been answered), and
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

const market = (misbehaviour: string): Provoke => request(`GET /market/insights?${misbehaviour} HTTP/1.1`)

const marketUntilEnd =
  (misbehaviour: string): Provoke =>
  ({ port }, id) =>
    sayUntilEnd(port, head(`GET /market/insights?${misbehaviour} HTTP/1.1`, id))

const get = 'GET /market/insights HTTP/1.1'
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

/** Lists a provocation or several for every kind of failure that is built. */
export const provokedFailures: readonly FailureRow[] = [
  { kind: 'bad-request', provoked: 'no Host', status: 400, provoke: bytes(`${get}\r\n\r\n`) },
  { kind: 'bad-request', provoked: 'two Hosts', status: 400, provoke: request(get, ['Host: another']) },
  { kind: 'bad-request', provoked: 'a fragment', status: 400, provoke: request('GET /market/insights#x HTTP/1.1') },
  { kind: 'bad-request', provoked: 'no request line', status: 400, provoke: bytes('hello\r\n\r\n'), cause: /method/ },
  {
    kind: 'bad-request',
    provoked: 'a field name with a space',
    status: 400,
    provoke: request(get, ['Bad Name: x']),
    cause: /0x20 in a field name/,
  },
  { kind: 'misdirected', provoked: 'another Host', status: 421, provoke: bytes(`${get}\r\nHost: another\r\n\r\n`) },
  {
    kind: 'misdirected',
    provoked: 'another host in the target, which overrides Host',
    status: 421,
    provoke: request('GET http://another/market/insights HTTP/1.1'),
  },
  { kind: 'misdirected', provoked: 'no Host on HTTP/1.0', status: 421, provoke: bytes('GET /x HTTP/1.0\r\n\r\n') },
  { kind: 'not-found', provoked: 'an unknown path', status: 404, provoke: request('GET /health HTTP/1.1') },
  {
    kind: 'not-found',
    provoked: 'an encoded alias',
    status: 404,
    provoke: request('GET /%6darket/insights HTTP/1.1'),
  },
  {
    kind: 'method-not-allowed',
    provoked: 'another method',
    status: 405,
    fields: { allow: 'GET' },
    provoke: request('POST /market/insights HTTP/1.1'),
  },
  {
    kind: 'method-not-allowed',
    provoked: 'HEAD',
    status: 405,
    fields: { allow: 'GET' },
    body: false,
    provoke: ({ port }, id) =>
      say(port, head('HEAD /market/insights HTTP/1.1', id), (text) => text.includes('\r\n\r\n')),
  },
  {
    kind: 'method-not-allowed',
    provoked: 'CONNECT',
    status: 405,
    fields: { allow: 'GET, POST', connection: 'close' },
    provoke: bytes('CONNECT gateway:443 HTTP/1.1\r\nHost: gateway:443\r\n\r\n'),
  },
  {
    kind: 'unsupported-coding',
    provoked: 'a coding before chunked',
    status: 501,
    fields: { connection: 'close' },
    provoke: request('POST /risk/asset-valuation HTTP/1.1', ['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
  },
  {
    kind: 'unsupported-version',
    provoked: 'HTTP/2.0 in a request line',
    status: 505,
    provoke: request('GET /market/insights HTTP/2.0'),
  },
  {
    kind: 'content-too-large',
    provoked: 'a length over the bound',
    status: 413,
    provoke: request('POST /inventory/sync?stall HTTP/1.1', ['Content-Length: 2000'], 'x'.repeat(2000)),
  },
  {
    kind: 'content-too-large',
    provoked: 'chunks over the bound',
    status: 413,
    fields: { connection: 'close' },
    provoke: request(
      'POST /inventory/sync?stall HTTP/1.1',
      ['Transfer-Encoding: chunked'],
      `${chunk('x'.repeat(800))}${chunk('x'.repeat(800))}`,
    ),
  },
  {
    kind: 'header-too-large',
    provoked: 'too many fields',
    status: 431,
    provoke: request(get, Array(30).fill('X-Many: 1') as string[]),
  },
  {
    kind: 'header-too-large',
    provoked: 'fields over the bound',
    status: 431,
    provoke: request(get, [`X-Large: ${'x'.repeat(2100)}`]),
  },
  {
    kind: 'header-too-large',
    provoked: 'fields over the bound of the parser',
    status: 431,
    provoke: request(get, [`X-Large: ${'x'.repeat(10_000)}`]),
    cause: /more than 4096 bytes/,
  },
  {
    kind: 'uri-too-long',
    provoked: 'a target over the bound',
    status: 414,
    provoke: request(`GET /market/insights?${'x'.repeat(1100)} HTTP/1.1`),
  },
  {
    kind: 'uri-too-long',
    provoked: 'a target over the bound of the parser',
    status: 414,
    provoke: request(`GET /market/insights?${'x'.repeat(10_000)} HTTP/1.1`),
    cause: /more than 4096 bytes/,
  },
  {
    kind: 'request-timeout',
    provoked: 'a head that never ends',
    status: 408,
    provoke: bytes(`${get}\r\nHost: gateway\r\n`),
  },
  {
    kind: 'request-timeout',
    provoked: 'a small body that never ends',
    status: 408,
    fields: { connection: 'close' },
    provoke: request('POST /risk/asset-valuation?stall HTTP/1.1', ['Content-Length: 10'], 'abc'),
  },
  {
    kind: 'request-timeout',
    provoked: 'chunks that never end',
    status: 408,
    fields: { connection: 'close' },
    provoke: request('POST /risk/asset-valuation?stall HTTP/1.1', ['Transfer-Encoding: chunked'], chunk('abc')),
  },
  {
    kind: 'expectation-failed',
    provoked: 'an unknown expectation',
    status: 417,
    provoke: request(get, ['Expect: the unexpected']),
  },
  { kind: 'loop', provoked: 'our own Via', status: 508, provoke: request(get, ['Via: 1.1 gateway-on-stage']) },
  {
    kind: 'refused-by-operator',
    provoked: 'state: refuse',
    status: 503,
    fields: { 'retry-after': '60' },
    provoke: request('POST /financing/pre-approval HTTP/1.1', ['Content-Length: 3'], 'abc'),
  },
  {
    kind: 'connect-failed',
    provoked: 'a port where nothing listens',
    status: 502,
    provoke: request('GET /leads/pipeline HTTP/1.1'),
    cause: /ECONNREFUSED/,
  },
  {
    kind: 'connect-timeout',
    provoked: 'a backlog that is full',
    status: 504,
    provoke: request('GET /analysis/esg-grant HTTP/1.1'),
  },
  {
    kind: 'tls-failed',
    provoked: 'a server that speaks no TLS',
    status: 502,
    provoke: request('GET /compliance/audit-trail HTTP/1.1'),
    cause: /SSL|TLS/i,
  },
  { kind: 'reset-before-headers', provoked: 'a reset', status: 502, provoke: market('reset'), cause: /ECONNRESET/ },
  { kind: 'reset-before-headers', provoked: 'an end', status: 502, provoke: market('end'), cause: /closed/ },
  {
    kind: 'reset-before-headers',
    provoked: 'an end within the head',
    status: 502,
    provoke: market('end-in-head'),
    cause: /./,
  },
  { kind: 'headers-timeout', provoked: 'an upstream that says nothing', status: 504, provoke: market('stall') },
  {
    kind: 'headers-timeout',
    provoked: 'an upstream that says nothing to a POST',
    status: 504,
    provoke: request('POST /risk/asset-valuation?stall HTTP/1.1', ['Content-Length: 3'], 'abc'),
  },
  ...[
    ['bytes that are no HTTP', 'unparsable'],
    ['a status that is no number', 'status-line'],
    ['a field name with a space', 'field-name'],
    ['a field value with a control character', 'field-value'],
    ['a coding other than chunked', 'coding-gzip'],
    ['a coding before chunked', 'coding-two'],
    ['a coding with a length', 'coding-and-length'],
    ['two lengths', 'two-lengths'],
    ['a 101 that nobody asked for', 'switching'],
    ['a head of 100 KB', 'oversized'],
  ].map(
    ([provoked = '', misbehaviour = '']): FailureRow => ({
      kind: 'bad-answer',
      provoked,
      status: 502,
      provoke: market(misbehaviour),
      cause: /./,
    }),
  ),
  {
    kind: 'deadline-exceeded',
    provoked: 'an upstream that says nothing',
    status: 504,
    provoke: request('POST /valuation/forecast?stall HTTP/1.1', ['Content-Length: 3'], 'abc'),
  },
  ...[
    ['a body shorter than its length', 'short-length', /./],
    ['chunks without the last one', 'short-chunks', /./],
    ['a chunk size that is no number', 'bad-chunk', /./],
    ['a reset within the body', 'reset-in-body', /ECONNRESET/],
    ['a body that comes to a halt', 'stall-in-body', undefined],
  ].map(
    ([provoked, misbehaviour, cause]): FailureRow => ({
      kind: 'truncated',
      provoked: String(provoked),
      status: 'cut',
      provoke: marketUntilEnd(String(misbehaviour)),
      ...(cause instanceof RegExp && { cause }),
    }),
  ),
  {
    kind: 'client-gone',
    provoked: 'a client that leaves while it waits',
    status: 'silence',
    provoke: (stage, id) => sayAndLeave(stage, id, head('POST /valuation/score?stall HTTP/1.1', id)),
  },
  {
    kind: 'client-gone',
    provoked: 'a client that leaves while it sends',
    status: 'silence',
    provoke: (stage, id) =>
      sayAndLeave(stage, id, `${head('POST /valuation/score?stall HTTP/1.1', id, 'Content-Length: 1000000')}abc`),
  },
  {
    kind: 'internal',
    provoked: 'a layer that throws',
    status: 500,
    provoke: ({ brokenPort }, id) => say(brokenPort, head(get, id)),
    cause: /planted/,
  },
  {
    kind: 'internal',
    provoked: 'a layer that rejects',
    status: 500,
    provoke: ({ brokenPort }, id) => say(brokenPort, head('POST /valuation/score HTTP/1.1', id)),
    cause: /planted/,
  },
]
