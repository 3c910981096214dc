import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatewayForAll, openGateway, type Settings, type TestGateway } from '../helpers/gateway.ts'
import { onRequest, openRawUpstream, type RawUpstream } from '../helpers/upstream.ts'
import { call, chunked, fieldValues, pseudoRandomBytes, sha256, type WireRequest } from '../helpers/wire.ts'

const KiB = 1024
const MiB = 1024 * KiB
const large = 16 * MiB

const sizes: readonly (readonly [string, number])[] = [
  ['0 B', 0],
  ['1 B', 1],
  ['64 KiB - 1', 64 * KiB - 1],
  ['64 KiB', 64 * KiB],
  ['64 KiB + 1', 64 * KiB + 1],
  ['1 MiB', MiB],
]
const bodies = new Map([...sizes.map(([, size]) => size), large].map((size) => [size, pseudoRandomBytes(size)]))
const bodyOf = (size: number): Buffer => bodies.get(size) ?? Buffer.alloc(0)
const hashes = new Map([...bodies].map(([size, body]) => [size, sha256(body)]))

const contentTypes = ['application/json', 'no type at all;;;', null]

/** One of each method. */
const operations = [
  ['POST', '/valuation/score'],
  ['GET', '/market/insights'],
] as const

describe('the body of a request', () => {
  const site = gatewayForAll({ listen: { getContent: 'forward' } })

  /** Sends a body and finds what arrived, by a mark in the query. */
  const forward = async (mark: string, request: WireRequest) => {
    const response = await call(site.port, { ...request, target: `${request.target}?${mark}` })
    const arrived = site.upstream.requests.find(({ url }) => url.endsWith(`?${mark}`))
    return { status: response.status, arrived }
  }

  describe.each(operations)('(%s)', (method, target) => {
    test.each(sizes)('of %s arrives byte-identical, by length and chunked, whatever its type', async (_, size) => {
      const forms = contentTypes.flatMap((type) =>
        [undefined, 10_000].map((chunkBytes) => ({
          type,
          chunkBytes,
          mark: `${method}-${size}-${type}-${chunkBytes}`,
        })),
      )

      const got = await Promise.all(
        forms.map(async ({ type, chunkBytes, mark }) => {
          const fields = type === null ? [] : ['Content-Type', type]
          const body = bodyOf(size)
          const request = { method, target, fields, body, ...(chunkBytes === undefined ? {} : { chunkBytes }) }
          return forward(encodeURIComponent(mark), request)
        }),
      )

      for (const [i, { status, arrived }] of got.entries()) {
        const { type, chunkBytes } = forms[i] as (typeof forms)[number]
        const { rawHeaders = [] } = arrived ?? {}
        expect({ status, sha256: arrived?.sha256, complete: arrived?.complete }).toEqual({
          status: 200,
          sha256: hashes.get(size),
          complete: true,
        })
        expect(fieldValues(rawHeaders, 'content-type')).toEqual(type === null ? [] : [type])
        // A body of no bytes has no framing worth keeping: chunked or not, it goes out as none.
        const isChunked = chunkBytes !== undefined && size > 0
        expect(fieldValues(rawHeaders, 'transfer-encoding')).toEqual(isChunked ? ['chunked'] : [])
        const hasLength = !isChunked && (size > 0 || method === 'POST')
        expect(fieldValues(rawHeaders, 'content-length')).toEqual(hasLength ? [String(size)] : [])
      }
    })
  })

  test.each([
    ['POST', '/inventory/sync', undefined],
    ['GET', '/leads/pipeline', 65_536],
  ])('%s %s of 16 MiB arrives byte-identical, in chunks of %s', async (method, target, chunkBytes) => {
    const body = bodyOf(large)

    const { status, arrived } = await forward('large', {
      method,
      target,
      body,
      ...(chunkBytes === undefined ? {} : { chunkBytes }),
    })

    expect({ status, sha256: arrived?.sha256 }).toEqual({ status: 200, sha256: hashes.get(large) })
  })

  test('chunks of a single byte arrive as the same body', async () => {
    const body = pseudoRandomBytes(5000)

    const { arrived } = await forward('single', { method: 'POST', target: '/valuation/score', body, chunkBytes: 1 })

    expect(arrived?.sha256).toBe(sha256(body))
  })

  test.each(['1.0', '1.1'] as const)('an HTTP/%s client may send one', async (version) => {
    const body = pseudoRandomBytes(MiB)

    const { arrived } = await forward(`version-${version}`, {
      method: 'POST',
      target: '/valuation/score',
      version,
      body,
    })

    expect(arrived?.sha256).toBe(sha256(body))
  })
})

describe('the body of a response', () => {
  let upstream: RawUpstream
  let booted: TestGateway

  // Answers as the query asks: ?size.framing
  beforeAll(async () => {
    upstream = await openRawUpstream((socket) =>
      onRequest(socket, (head) => {
        const [, size = '0', framing] = /\?(\d+)\.(\w+)/.exec(head) ?? []
        const body = bodyOf(Number(size))
        switch (framing) {
          case 'length':
            socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
            return void socket.write(body)
          case 'chunked':
            socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            for (const piece of chunked(body, 30_000)) socket.write(piece)
            return
          default:
            socket.write('HTTP/1.0 200 OK\r\n\r\n')
            socket.end(body)
        }
      }),
    )
    booted = await openGateway({ upstream: upstream.url })
  })
  afterAll(async () => {
    await booted.gateway.close()
    await upstream.close()
  })

  const framings = ['length', 'chunked', 'close'] as const
  const versions = ['1.1', '1.0'] as const

  describe.each(operations)('(%s)', (method, path) => {
    test.each(sizes)('of %s arrives byte-identical, by length, chunked and to the end', async (_, size) => {
      const forms = framings.flatMap((framing) => versions.map((version) => ({ framing, version })))

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
    })
  })

  test.each([
    ['length', '1.1'],
    ['close', '1.0'],
  ] as const)('of 16 MiB arrives byte-identical (%s, to an HTTP/%s client)', async (framing, version) => {
    const response = await call(booted.port, { target: `/market/insights?${large}.${framing}`, version })

    expect(response).toMatchObject({ status: 200, whole: true, how: 'end' })
    expect(response.sha256).toBe(hashes.get(large))
  })
})

/** Opens a gateway, for the tests of a `describe`, whose upstream answers with the bytes that a test gives. */
const answering = (listen: Settings['listen'] = {}) => {
  let bytes = ''
  let upstream: RawUpstream
  let booted: TestGateway
  beforeAll(async () => {
    upstream = await openRawUpstream((socket) =>
      onRequest(socket, () => void socket.write(Buffer.from(bytes, 'latin1'))),
    )
    booted = await openGateway({ upstream: upstream.url, listen })
  })
  afterAll(async () => {
    await booted.gateway.close()
    await upstream.close()
  })
  return (answer: string, request: WireRequest = {}) => {
    bytes = answer
    return call(booted.port, request)
  }
}

describe('a response without a body', () => {
  const answered = answering()

  test.each([
    ['204 No Content\r\nETag: "x"', []],
    ['204 No Content\r\nContent-Length: 0', []], // which it should not have had
    ['304 Not Modified\r\nContent-Length: 1234\r\nETag: "x"', ['1234']], // that of the representation
    ['304 Not Modified\r\nETag: "x"', []],
  ])('(%j) has the length %j, and no coding', async (head, lengths) => {
    const response = await answered(`HTTP/1.1 ${head}\r\n\r\n`)

    expect(response).toMatchObject({ status: Number(head.slice(0, 3)), framing: 'none', whole: true, how: 'end' })
    expect(fieldValues(response.fields, 'etag')).toEqual(head.includes('ETag') ? ['"x"'] : [])
    expect(fieldValues(response.fields, 'content-length')).toEqual(lengths)
    expect(fieldValues(response.fields, 'transfer-encoding')).toEqual([])
  })

  test.each([201, 404, 599, 999])('of status %i keeps it', async (status) => {
    const response = await answered(`HTTP/1.1 ${status} As Sent\r\nContent-Length: 0\r\n\r\n`)

    expect(response).toMatchObject({ status, reason: 'As Sent', framing: 'length', whole: true })
  })

  test.each([Buffer.from('Déjà vu — 中').toString('latin1'), 'd\xe9j\xe0'])(
    'keeps a reason phrase byte for byte: %j',
    async (reason) => {
      const response = await answered(`HTTP/1.1 200 ${reason}\r\nContent-Length: 0\r\n\r\n`)

      expect(response).toMatchObject({ status: 200, reason })
    },
  )
})

describe('interim responses', () => {
  const interim =
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLINK: </b>\r\n\r\n'
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const [dropped, relayed] = [answering({ interim: 'drop' }), answering({ interim: 'relay' })]

  test('never reach an HTTP/1.1 client unless the listener relays them, nor an HTTP/1.0 client', async () => {
    const responses = [await dropped(interim + final), await relayed(interim + final, { version: '1.0' })]

    for (const response of responses)
      expect(response).toMatchObject({ interim: [], status: 200, whole: true, body: Buffer.from('ok') })
  })

  test('102 and 103 reach an HTTP/1.1 client where the listener relays them', async () => {
    const response = await relayed(interim + final)

    expect(response.interim.map(({ status }) => status)).toEqual([102, 103])
    expect(response.interim[1]?.fields).toEqual(['Link', '</a>; rel=preload', 'LINK', '</b>'])
    expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
  })

  test.each(['Content-Length: 0', 'Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5'])(
    'lose a length, which they cannot have, and what ends at this hop: %j',
    async (lines) => {
      const response = await relayed(`HTTP/1.1 103 Early Hints\r\n${lines}\r\nX: 1\r\n\r\n${final}`)

      expect(response.interim[0]?.fields).toEqual(['X', '1'])
      expect(response.status).toBe(200)
    },
  )

  test.each([
    ['a switch of protocols that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 Low\r\n\r\n'],
  ])('that are %s are a bad response', async (_, bytes) => {
    const response = await relayed(bytes + final)

    expect(response.status).toBe(502)
    expect(response.body.toString()).toContain('"bad-answer"')
  })
})
