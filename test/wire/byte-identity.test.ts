import type { Socket } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { liveGatewayForAll, shareLiveGateway } from '../helpers/live-gateway.ts'
import { onRequest, openRawUpstream } from '../helpers/upstream.ts'
import { call, chunked, fieldValues, pseudoRandomBytes, sha256, type WireRequest } from '../helpers/wire.ts'

const KiB = 1024
const MiB = 1024 * KiB
const large = 5 * MiB

const sizes = [0, 1, 64 * KiB - 1, 64 * KiB, 64 * KiB + 1, MiB]
const bodies = new Map([...sizes, 1000, large].map((size) => [size, pseudoRandomBytes(size)]))
const bodyOf = (size: number): Buffer => bodies.get(size) ?? Buffer.alloc(0)
const hashes = new Map([...bodies].map(([size, body]) => [size, sha256(body)]))

/** One of each method. */
const operations = [
  ['POST', '/valuation/score'],
  ['GET', '/market/insights'],
] as const

describe('the body of a request', () => {
  const site = liveGatewayForAll({ listen: { getContent: 'forward' } })

  /** Sends a body and finds what arrived, by a mark in the query. */
  const forward = async (mark: string, request: WireRequest) => {
    const { status } = await call(site.port, { ...request, target: `${request.target}?${mark}` })
    const arrived = site.server.requests.find(({ url }) => url.endsWith(`?${mark}`))
    const values = (name: string) => fieldValues(arrived?.rawHeaders ?? [], name)
    return { status, sha256: arrived?.sha256, complete: arrived?.complete, values }
  }

  describe.each(operations)('(%s)', (method, target) => {
    const forms = ['application/json', 'no type at all;;;', null].flatMap((type) =>
      [{}, { chunkBytes: 10_000 }].map((framing) => ({ type, framing, isChunked: 'chunkBytes' in framing })),
    )

    test.each(sizes)(
      'a request body of %i bytes arrives byte-identical, by length and chunked, whatever its type',
      async (size) => {
        const got = await Promise.all(
          forms.map(({ type, framing }, i) => {
            const fields = type === null ? [] : ['Content-Type', type]
            return forward(`${method}-${size}-${i}`, { method, target, fields, body: bodyOf(size), ...framing })
          }),
        )

        for (const [i, { values, ...arrived }] of got.entries()) {
          const { type, isChunked } = forms[i] as (typeof forms)[number]
          expect(arrived).toEqual({ status: 200, sha256: hashes.get(size), complete: true })
          expect(values('content-type')).toEqual(type === null ? [] : [type])
          // An empty body keeps no framing: chunked or not, it goes out without one.
          const length = size > 0 || method === 'POST' ? [String(size)] : []
          const framing = isChunked && size > 0 ? [['chunked'], []] : [[], length]
          expect([values('transfer-encoding'), values('content-length')]).toEqual(framing)
        }
      },
    )
  })

  test.each<[string, number, WireRequest]>([
    ['5 MiB by length', large, { method: 'POST', target: '/inventory/sync' }],
    ['5 MiB in chunks, of a GET', large, { target: '/leads/pipeline', chunkBytes: 65_536 }],
    ['1 MiB, of an HTTP/1.0 client', MiB, { method: 'POST', target: '/valuation/score', version: '1.0' }],
    ['1,000 bytes, in chunks of a single byte', 1000, { method: 'POST', target: '/valuation/score', chunkBytes: 1 }],
  ])('the body of a request of %s arrives byte-identical', async (name, size, request) => {
    const arrived = await forward(encodeURIComponent(name), { ...request, body: bodyOf(size) })

    expect(arrived).toMatchObject({ status: 200, sha256: hashes.get(size) })
  })
})

let said = ''

/** Responds as the query says, `?size.framing`, or else as the test has set. */
const respond = (socket: Socket, head: string): void => {
  const [, size, framing] = /\?(\d+)\.(\w+)/.exec(head) ?? []
  if (size === undefined) return void socket.write(Buffer.from(said, 'latin1'))
  const body = bodyOf(Number(size))
  if (framing === 'close') return void socket.end(Buffer.concat([Buffer.from('HTTP/1.0 200 OK\r\n\r\n'), body]))
  const isChunked = framing === 'chunked'
  const field = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`
  socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`)
  for (const piece of isChunked ? chunked(body, 30_000) : [body]) socket.write(piece)
}

const upstream = await openRawUpstream((socket) => onRequest(socket, (head) => respond(socket, head)))
afterAll(upstream.close)
const booted = await shareLiveGateway({ upstream: upstream.url })
const relaying = await shareLiveGateway({ upstream: upstream.url, listen: { interim: 'relay' } })

const responded = (bytes: string, { port } = booted, request: WireRequest = {}) => {
  said = bytes
  return call(port, request)
}

describe('the body of a response', () => {
  const forms = (['length', 'chunked', 'close'] as const).flatMap((framing) =>
    (['1.1', '1.0'] as const).map((version) => ({ framing, version })),
  )

  describe.each(operations)('(%s)', (method, path) => {
    test.each(sizes)(
      'a response body of %i bytes arrives byte-identical, by length, chunked and to the end',
      async (size) => {
        const responses = await Promise.all(
          forms.map(({ framing, version }) =>
            call(booted.port, { method, target: `${path}?${size}.${framing}`, version }),
          ),
        )

        for (const [i, response] of responses.entries()) {
          const { framing, version } = forms[i] as (typeof forms)[number]
          expect(response).toMatchObject({ status: 200, whole: true, how: 'end', sha256: hashes.get(size) })
          const elsewise = version === '1.0' ? 'close' : 'chunked'
          expect(response.framing).toBe(framing === 'length' ? 'length' : elsewise)
        }
      },
    )
  })

  test.each([
    ['length', '1.1'],
    ['close', '1.0'],
  ] as const)('of 5 MiB arrives byte-identical (%s, to an HTTP/%s client)', async (framing, version) => {
    const response = await call(booted.port, { target: `/market/insights?${large}.${framing}`, version })

    expect(response).toMatchObject({ status: 200, whole: true, how: 'end', sha256: hashes.get(large) })
  })
})

describe('a response without a body', () => {
  test.each([
    ['204 No Content\r\nETag: "x"', []],
    ['204 No Content\r\nContent-Length: 0', []], // which it should not have had
    ['304 Not Modified\r\nContent-Length: 1234\r\nETag: "x"', ['1234']], // that of the representation
    ['304 Not Modified\r\nETag: "x"', []],
  ])('a response without a body (%j) has the length %j, and no coding', async (head, lengths) => {
    const response = await responded(`HTTP/1.1 ${head}\r\n\r\n`)

    expect(response).toMatchObject({ status: Number(head.slice(0, 3)), framing: 'none', whole: true, how: 'end' })
    expect(fieldValues(response.fields, 'etag')).toEqual(head.includes('ETag') ? ['"x"'] : [])
    expect(fieldValues(response.fields, 'content-length')).toEqual(lengths)
    expect(fieldValues(response.fields, 'transfer-encoding')).toEqual([])
  })
})

describe('interim responses', () => {
  const interim =
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLINK: </b>\r\n\r\n'
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

  test('interim responses never reach an HTTP/1.1 client unless the listener relays them, nor an HTTP/1.0 client', async () => {
    const responses = [await responded(interim + final), await responded(interim + final, relaying, { version: '1.0' })]

    for (const response of responses)
      expect(response).toMatchObject({ interim: [], status: 200, whole: true, body: Buffer.from('ok') })
  })

  test('interim responses 102 and 103 reach an HTTP/1.1 client where the listener relays them', async () => {
    const response = await responded(interim + final, relaying)

    expect(response.interim.map(({ status }) => status)).toEqual([102, 103])
    expect(response.interim[1]?.fields).toEqual(['Link', '</a>; rel=preload', 'LINK', '</b>'])
    expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
  })
})
