import { afterAll, beforeAll, describe, expect } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { gatewayForAll, openGateway, type TestGateway } from '../helpers/gateway.ts'
import { describeTests, part, test, testAndDrill } from '../helpers/speed.ts'
import { onRequest, openRawUpstream, type RawUpstream } from '../helpers/upstream.ts'
import { call, chunked, fieldValues, pseudoRandomBytes, sha256, type WireRequest } from '../helpers/wire.ts'

const KiB = 1024
const MiB = 1024 * KiB

const sizes: readonly (readonly [string, number])[] = [
  ['0 B', 0],
  ['1 B', 1],
  ['64 KiB - 1', 64 * KiB - 1],
  ['64 KiB', 64 * KiB],
  ['64 KiB + 1', 64 * KiB + 1],
  ['1 MiB', MiB],
]
const bodies = new Map([...sizes.map(([, size]) => size), 64 * MiB].map((size) => [size, pseudoRandomBytes(size)]))
const bodyOf = (size: number): Buffer => bodies.get(size) ?? Buffer.alloc(0)
const hashes = new Map([...bodies].map(([size, body]) => [size, sha256(body)]))

const contentTypes = [
  'application/json',
  'text/plain; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'no type at all;;;',
  null,
]

const nine = allOperations.map(({ id, method, path }) => [id, method, path] as const)

describe('the body of a request', () => {
  const site = gatewayForAll({ listen: { getContent: 'forward' } })

  /** Sends a body and finds what arrived, by a mark in the query. */
  const forward = async (mark: string, request: WireRequest) => {
    const response = await call(site.port, { ...request, target: `${request.target}?${mark}` })
    const arrived = site.upstream.requests.find(({ url }) => url.endsWith(`?${mark}`))
    return { status: response.status, arrived }
  }

  describeTests.each(nine)('%s', (id, method, target) => {
    test.each(sizes)('of %s arrives byte-identical, by length and chunked, whatever its type', async (_, size) => {
      const forms = contentTypes.flatMap((type) =>
        [undefined, 10_000].map((chunkBytes) => ({ type, chunkBytes, mark: `${id}-${size}-${type}-${chunkBytes}` })),
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

  testAndDrill.each(
    part([
      ['POST', '/inventory/sync', undefined],
      ['POST', '/valuation/score', 1_000_000],
      ['GET', '/market/insights', undefined],
      ['GET', '/leads/pipeline', 65_536],
    ]),
  )('%s %s of 64 MiB arrives byte-identical, in chunks of %s', async (method, target, chunkBytes) => {
    const body = bodyOf(64 * MiB)

    const { status, arrived } = await forward('large', {
      method,
      target,
      body,
      ...(chunkBytes === undefined ? {} : { chunkBytes }),
    })

    expect({ status, sha256: arrived?.sha256 }).toEqual({ status: 200, sha256: hashes.get(64 * MiB) })
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

  describeTests.each(nine)('%s', (_id, method, path) => {
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

  testAndDrill.each(part(framings.flatMap((framing) => versions.map((version) => [framing, version] as const))))(
    'of 64 MiB arrives byte-identical (%s, to an HTTP/%s client)',
    async (framing, version) => {
      const response = await call(booted.port, { target: `/market/insights?${64 * MiB}.${framing}`, version })

      expect(response).toMatchObject({ status: 200, whole: true, how: 'end' })
      expect(response.sha256).toBe(hashes.get(64 * MiB))
    },
  )
})

describeTests('a response without a body', () => {
  const answered = async (bytes: string, request: WireRequest = {}) => {
    const upstream = await openRawUpstream((socket) =>
      onRequest(socket, () => void socket.write(Buffer.from(bytes, 'latin1'))),
    )
    const booted = await openGateway({ upstream: upstream.url })
    const response = await call(booted.port, request)
    await booted.gateway.close()
    await upstream.close()
    return response
  }

  test('of status 204 has neither length nor coding', async () => {
    const response = await answered('HTTP/1.1 204 No Content\r\nETag: "x"\r\n\r\n')

    expect(response).toMatchObject({ status: 204, framing: 'none', whole: true, how: 'end' })
    expect(fieldValues(response.fields, 'etag')).toEqual(['"x"'])
    expect(fieldValues(response.fields, 'content-length')).toEqual([])
    expect(fieldValues(response.fields, 'transfer-encoding')).toEqual([])
  })

  test('of status 204 loses a length that it should not have had', async () => {
    const response = await answered('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n')

    expect(fieldValues(response.fields, 'content-length')).toEqual([])
  })

  test('of status 304 keeps the length of the representation', async () => {
    const response = await answered('HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: "x"\r\n\r\n')

    expect(response).toMatchObject({ status: 304, framing: 'none', whole: true, how: 'end' })
    expect(fieldValues(response.fields, 'content-length')).toEqual(['1234'])
  })

  test('of status 304 without a length has none', async () => {
    const response = await answered('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n')

    expect(response).toMatchObject({ status: 304, framing: 'none', whole: true, how: 'end' })
    expect(fieldValues(response.fields, 'content-length')).toEqual([])
    expect(fieldValues(response.fields, 'transfer-encoding')).toEqual([])
  })

  test.each([201, 299, 301, 404, 422, 451, 500, 503, 599, 999])('of status %i keeps it', async (status) => {
    const response = await answered(`HTTP/1.1 ${status} As Sent\r\nContent-Length: 0\r\n\r\n`)

    expect(response).toMatchObject({ status, reason: 'As Sent', framing: 'length', whole: true })
  })

  test('keeps a reason phrase of UTF-8 byte for byte', async () => {
    const reason = Buffer.from('Déjà vu — 中').toString('latin1')

    const response = await answered(`HTTP/1.1 200 ${reason}\r\nContent-Length: 0\r\n\r\n`)

    expect(response).toMatchObject({ status: 200, reason })
  })

  test('keeps a reason phrase of other bytes as well', async () => {
    const response = await answered('HTTP/1.1 404 d\xe9j\xe0\r\nContent-Length: 0\r\n\r\n')

    expect(response).toMatchObject({ status: 404, reason: 'd\xe9j\xe0' })
  })

  test('repeats each Set-Cookie apart', async () => {
    const response = await answered(
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: 1\r\nSet-Cookie: b=2\r\nset-cookie: a=1\r\nContent-Length: 0\r\n\r\n',
    )

    expect(response.fields.slice(0, 8)).toEqual([
      'Set-Cookie',
      'a=1',
      'X',
      '1',
      'Set-Cookie',
      'b=2',
      'set-cookie',
      'a=1',
    ])
  })
})

describeTests('interim responses', () => {
  const interim =
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLINK: </b>\r\n\r\n'
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const answered = async (bytes: string, version: '1.0' | '1.1', interim: 'drop' | 'relay' = 'relay') => {
    const upstream = await openRawUpstream((socket) => onRequest(socket, () => void socket.write(bytes)))
    const booted = await openGateway({ upstream: upstream.url, listen: { interim } })
    const response = await call(booted.port, { version })
    await booted.gateway.close()
    await upstream.close()
    return response
  }

  test('never reach an HTTP/1.1 client unless the listener relays them', async () => {
    const response = await answered(interim + final, '1.1', 'drop')

    expect(response.interim).toEqual([])
    expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
  })

  test('102 and 103 reach an HTTP/1.1 client where the listener relays them', async () => {
    const response = await answered(interim + final, '1.1')

    expect(response.interim.map(({ status }) => status)).toEqual([102, 103])
    expect(response.interim[1]?.fields).toEqual(['Link', '</a>; rel=preload', 'LINK', '</b>'])
    expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
  })

  test('never reach an HTTP/1.0 client', async () => {
    const response = await answered(interim + final, '1.0')

    expect(response.interim).toEqual([])
    expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
  })

  test('lose a length, which they cannot have', async () => {
    const response = await answered(`HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\nX: 1\r\n\r\n${final}`, '1.1')

    expect(response.interim[0]?.fields).toEqual(['X', '1'])
    expect(response.status).toBe(200)
  })

  test('lose what ends at this hop', async () => {
    const response = await answered(
      `HTTP/1.1 103 Early Hints\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX: 1\r\n\r\n${final}`,
      '1.1',
    )

    expect(response.interim[0]?.fields).toEqual(['X', '1'])
  })

  test.each([
    ['a switch of protocols that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 Low\r\n\r\n'],
  ])('that are %s are a bad response', async (_, bytes) => {
    const response = await answered(bytes + final, '1.1')

    expect(response.status).toBe(502)
    expect(response.body.toString()).toContain('"bad-answer"')
  })
})
