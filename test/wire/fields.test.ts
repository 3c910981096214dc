import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bootGateway, openGateway, type Settings, type TestGateway } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../helpers/raw-client.ts'
import { onRequest, openRawUpstream, type RawUpstream, rawUpstream } from '../helpers/upstream.ts'
import { call, fieldValues, type WireRequest, type WireResponse, withoutFields } from '../helpers/wire.ts'

interface Rig {
  readonly booted: TestGateway
  /** Where the upstream listens, as it stands in a URL. */
  readonly authority: string
  /** Sends a request and returns how it arrived and what came back. */
  send(request?: WireRequest): Promise<Exchanged>
}

interface Exchanged {
  /** The request line as it arrived. */
  readonly line: string
  /** The request's fields as they arrived, flat. */
  readonly arrived: readonly string[]
  /** The bytes of the head as they arrived, latin1. */
  readonly head: string
  readonly answer: WireResponse
}

let upstream: RawUpstream
let response = ''
const heads: string[] = []
const gateways = new Map<string, Promise<TestGateway>>()
beforeAll(async () => {
  upstream = await openRawUpstream((socket) =>
    onRequest(socket, (head) => {
      heads.push(head)
      socket.write(Buffer.from(response, 'latin1'))
    }),
  )
})
afterAll(async () => {
  for (const booted of gateways.values()) await (await booted).gateway.close()
  await upstream.close()
})

/** Opens a gateway, one for each kind of settings, before an upstream that answers with bytes (latin1). */
const rig = async (settings: (origin: string) => Settings = () => ({}), answer = plain): Promise<Rig> => {
  const wanted = { upstream: upstream.url, ...settings(upstream.url) }
  const key = JSON.stringify(wanted)
  const opening = gateways.get(key) ?? openGateway(wanted)
  gateways.set(key, opening)
  const booted = await opening
  return {
    booted,
    authority: `127.0.0.1:${upstream.port}`,
    send: async (request) => {
      response = answer
      const got = await call(booted.port, request)
      const head = heads.at(-1) ?? ''
      const [line = '', ...lines] = head.trimEnd().split('\r\n')
      const arrived = lines.flatMap((each) => {
        const colon = each.indexOf(':')
        return [each.slice(0, colon), each.slice(colon + 2)]
      })
      return { line, arrived, head, answer: got }
    },
  }
}

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const answering = (...fields: string[]): string => {
  const lines = fields.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${fields[i + 1]}\r\n`] : []))
  return `HTTP/1.1 200 OK\r\n${lines.join('')}Content-Length: 2\r\n\r\nok`
}

/** Names what the gateway adds to a request. */
const added = ['host', 'connection', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id']

/** Names what the gateway adds to a response. */
const addedToResponse = ['via', 'x-request-id', 'date', 'connection', 'keep-alive', 'content-length']

const everyHighByte = Buffer.from(Array.from({ length: 128 }, (_, i) => i + 128)).toString('latin1')

// Each of these is legal, and easy to lose, fold, reorder or re-encode.
const awkward = [
  ...['Zeta', '1', 'alpha', '2', 'ALPHA', '3', 'Accept', 'a', 'accept', 'b', 'Zeta', '4'],
  ...['X-Empty', '', 'X-Bytes', everyHighByte, 'X-Tab', 'a\tb', 'X-Quoted', '"a, b"; c="\\""'],
  ...['Cookie', 'a=1; b=2', 'Cookie', 'c=3', 'Authorization', 'Bearer a.b-c~d+/=', 'Signature', 'sig1=:YWJj:'],
  ...['Content-Digest', 'sha-256=:AA==:', "!#$%&'*+-.^_`|~09Az", 'token', '__proto__', 'p', 'constructor', 'c'],
  ...['If-None-Match', 'W/"a", "b"', 'Range', 'bytes=0-1', 'Idempotency-Key', 'k', 'Accept-Encoding', 'br'],
]

describe('the fields of a request', () => {
  test('arrive with their order, casing, repetitions and bytes', async () => {
    const { send } = await rig()

    const { arrived } = await send({ fields: awkward })

    expect(withoutFields(arrived, ...added)).toEqual(awkward)
  })

  test.each([
    ['POST', Buffer.from('{}')],
    ['POST', Buffer.alloc(100_000)],
    ['GET', Buffer.from('{}')], // which the file has forwarded
  ])('arrive so with a body too (%s)', async (method, body) => {
    const { send } = await rig(() => ({ listen: { getContent: 'forward' } }))
    const target = method === 'POST' ? '/valuation/score' : '/market/insights'

    const { arrived } = await send({ method, target, fields: awkward, body })

    expect(withoutFields(arrived, ...added, 'content-length', 'transfer-encoding')).toEqual(awkward)
  })

  test.each([
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authorization',
    'Proxy-Authenticate',
    'Proxy-Authentication-Info',
    'TE',
    'Trailer',
    'Upgrade',
    'HTTP2-Settings',
  ])('%s stops here', async (name) => {
    const { send } = await rig()

    const { arrived, answer } = await send({ fields: [name, 'close', 'X-After', '1'] })

    expect(answer.status).toBe(200)
    expect(fieldValues(arrived, name)).toEqual(name === 'Connection' ? ['keep-alive'] : [])
    expect(fieldValues(arrived, 'x-after')).toEqual(['1'])
  })

  test('that Connection names stop here, on whichever line and in whatever case', async () => {
    const { send } = await rig()

    const { arrived } = await send({
      fields: ['X-One', '1', 'Connection', 'x-ONE ,, close', 'x-two', '2', 'X-Three', '3', 'connection', 'X-Two'],
    })

    expect(withoutFields(arrived, ...added)).toEqual(['X-Three', '3'])
  })

  test('that the gateway adds cannot be taken away by naming them in Connection', async () => {
    const { send } = await rig()

    const { arrived } = await send({
      fields: ['Connection', 'close, X-Forwarded-For, X-Forwarded-Host, Via, X-Request-Id, Host, Content-Length'],
    })

    for (const name of added) expect(fieldValues(arrived, name)).toHaveLength(1)
  })

  test('Expect stops here', async () => {
    const { send } = await rig()

    const { arrived } = await send({
      method: 'POST',
      target: '/valuation/score',
      fields: ['Expect', '100-continue'],
      body: Buffer.from('x'),
    })

    expect(fieldValues(arrived, 'expect')).toEqual([])
  })

  test('an upgrade that a client asks for is not passed on', async () => {
    const { send } = await rig()

    const { arrived, answer } = await send({
      fields: ['Connection', 'Upgrade, close', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13'],
    })

    expect(answer.status).toBe(200)
    expect(fieldValues(arrived, 'upgrade')).toEqual([])
    expect(fieldValues(arrived, 'connection')).toEqual(['keep-alive'])
  })

  test('a length is rendered anew', async () => {
    const { booted } = await rig()

    await exchangeRaw(
      booted.port,
      'POST /valuation/score HTTP/1.1\r\nHost: x\r\nconTent-LENgth:   0003\r\nConnection: close\r\n\r\nabc',
    )

    expect(heads.at(-1)?.match(/content-length.*/gi)).toEqual(['Content-Length: 3'])
  })

  const statusOf = async (field: string): Promise<number> => {
    const { booted } = await rig()
    return parseStatus(await exchangeRaw(booted.port, `GET /market/insights HTTP/1.1\r\nHost: x\r\n${field}\r\n\r\n`))
  }

  test('a value with any byte at all arrives as it is, or the request is malformed', async () => {
    const { send } = await rig()
    const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i))
    const legal = /[\t\x20-\x7e\x80-\xff]/
    const value = `a${bytes.filter((byte) => legal.test(byte)).join('')}b`

    const { arrived } = await send({ fields: ['X-Value', value] })

    expect(fieldValues(arrived, 'x-value')).toEqual([value])
    for (const byte of bytes.filter((each) => !legal.test(each)))
      expect([byte, await statusOf(`X-Value: a${byte}b`)]).toEqual([byte, 400])
  })

  test('a name with any byte at all is taken, or the request is malformed', async () => {
    // The colon ends the name: what follows is the value. A blank before it is malformed (RFC 9112 §5.1).
    const legal = "!#$%&'*+-.^_`|~0123456789AZaz:"
    expect(await statusOf([...legal].map((byte) => `X${byte}: v`).join('\r\n'))).toBe(200)
    for (const byte of '"(),/;<=>?@[\\]{} \t\0\x1f\x7f\x80\xa0\xff')
      expect([byte, await statusOf(`X${byte}: v`)]).toEqual([byte, 400])
  })

  test('trailers are dropped', async () => {
    const bytes: Buffer[] = []
    const other = await rawUpstream((socket) =>
      socket.on('data', (chunk: Buffer) => {
        bytes.push(chunk)
        if (chunk.includes('\r\n0\r\n')) socket.write(plain)
      }),
    )
    const booted = await bootGateway({ upstream: other.url })

    await call(booted.port, {
      method: 'POST',
      target: '/valuation/score',
      fields: ['Trailer', 'X-Late'],
      body: Buffer.from('abc'),
      chunkBytes: 3,
      trailers: 'X-Late: 1\r\n',
    })

    const arrived = Buffer.concat(bytes).toString('latin1')
    expect(arrived.endsWith('\r\n\r\n3\r\nabc\r\n0\r\n\r\n')).toBe(true)
    expect(arrived).not.toMatch(/late|trailer/i)
  })
})

describe('Via', () => {
  test('comes after those of earlier hops, and names the version that the client spoke', async () => {
    const { send } = await rig(() => ({ listen: { via: 'edge-1' } }), answering('Via', '1.1 origin-cache'))

    const { arrived, answer } = await send({ version: '1.0', fields: ['Via', '1.1 first'] })

    expect(fieldValues(arrived, 'via')).toEqual(['1.1 first', '1.0 edge-1'])
    expect(fieldValues(answer.fields, 'via')).toEqual(['1.1 origin-cache', '1.1 edge-1'])
  })
})

describe('forwarded fields', () => {
  const forged = [
    ...['Forwarded', 'for=9.9.9.9', 'X-Forwarded-For', '9.9.9.9', 'X_Forwarded_For', '9.9.9.9', 'X-Real-IP', '9.9.9.9'],
    ...['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'evil.test', 'X-Forwarded-Port', '1'],
    ...['x-forwarded-prefix', '/'],
  ]

  // forwarded.test.ts has what is made of each of them.
  test('name the client and how it called, and those of an untrusted peer are dropped', async () => {
    const { send } = await rig()

    const { head, arrived } = await send({ fields: ['Host', 'api.lender.test:8443', ...forged] })

    expect(head).not.toMatch(/9\.9\.9\.9|evil|https|prefix|port: 1/i)
    expect(fieldValues(arrived, 'x-forwarded-for')).toEqual(['127.0.0.1'])
    expect(fieldValues(arrived, 'x-forwarded-proto')).toEqual(['http'])
    expect(fieldValues(arrived, 'x-forwarded-host')).toEqual(['api.lender.test:8443'])
  })

  test('of a trusted proxy are kept, and the proxy is added', async () => {
    const { send } = await rig(() => ({ listen: { trustedProxies: ['127.0.0.0/8'] } }))

    const { arrived } = await send({ fields: [...forged, 'x-forwarded-for', '3.3.3.3'] })

    expect(fieldValues(arrived, 'x-forwarded-for')).toEqual(['9.9.9.9, 3.3.3.3, 127.0.0.1'])
    expect(fieldValues(arrived, 'x-forwarded-proto')).toEqual(['https'])
    expect(fieldValues(arrived, 'x-forwarded-host')).toEqual(['evil.test'])
    expect(fieldValues(arrived, 'forwarded')).toEqual(['for=9.9.9.9'])
    expect(fieldValues(arrived, 'x_forwarded_for')).toEqual([])
  })

  test('X-Forwarded-Host is left out for an HTTP/1.0 client without Host', async () => {
    const { send } = await rig()

    const { arrived } = await send({ version: '1.0' })

    expect(fieldValues(arrived, 'x-forwarded-host')).toEqual([])
  })
})

describe('Host', () => {
  const hosted = (host: string) => rig((origin) => ({ upstreams: { market: { endpoints: [origin], host } } }))

  test("is the endpoint's own by default, and where the client names none", async () => {
    const [byDefault, ofClient] = [await rig(), await hosted('client')]

    const { arrived } = await byDefault.send({ fields: ['Host', 'api.lender.test'] })
    const { arrived: unnamed } = await ofClient.send({ version: '1.0' })

    expect([arrived, unnamed].map((fields) => fieldValues(fields, 'host'))).toEqual(Array(2).fill([ofClient.authority]))
  })

  test.each([
    ["is the client's, byte for byte", 'client', {}, 'API.lender.test:8443'],
    ['is that of the absolute form', 'client', { target: 'http://other.test/market/insights?q' }, 'other.test'],
    ['is a fixed name when one is configured', 'lender.internal', {}, 'lender.internal'],
  ])('%s with `host: %s`', async (_, host, more, expected) => {
    const { send } = await hosted(host)

    const { arrived } = await send({ fields: ['Host', 'API.lender.test:8443'], ...more })

    expect(fieldValues(arrived, 'host')).toEqual([expected])
  })
})

describe('the target', () => {
  const queries = [
    '',
    '?',
    '??',
    '?a=1&a=2&&=',
    '?a=%2F%2f%00%zz%',
    '?q=a+b%20c',
    '?url=http://x/../..//&path=/valuation/score',
    '?quote="<>\\^`{|}\'',
    '?semi;colon:at@',
    `?long=${'x'.repeat(8000)}`,
  ]

  test('keeps its query, byte for byte', async () => {
    const { send } = await rig()

    for (const query of queries) {
      const { line, answer } = await send({ target: `/market/insights${query}` })
      expect([answer.status, line]).toEqual([200, `GET /market/insights${query} HTTP/1.1`])
    }
  })

  test('is malformed with bytes that are not ASCII, which no URI has', async () => {
    const { booted } = await rig()

    const response = await call(booted.port, { target: '/market/insights?q=caf\xe9' })

    expect(response.status).toBe(400)
  })

  test('gets the path prefix of its endpoint', async () => {
    const { send } = await rig((origin) => ({ upstreams: { market: `${origin}/v2/lender` } }))

    const { line } = await send({ target: '/market/insights?a' })

    expect(line).toBe('GET /v2/lender/market/insights?a HTTP/1.1')
  })

  test('loses the base path of the gateway', async () => {
    const { send } = await rig(() => ({ listen: { basePath: '/api' } }))

    const { line } = await send({ target: '/api/market/insights?a' })

    expect(line).toBe('GET /market/insights?a HTTP/1.1')
  })
})

describe('the fields of a response', () => {
  const keptFields = [
    ...['Zeta', '1', 'alpha', '2', 'ALPHA', '3', 'Set-Cookie', 'a=1; Path=/', 'Zeta', '4', 'set-cookie', 'b=2'],
    ...['X-Empty', '', 'X-Bytes', everyHighByte, 'ETag', 'W/"x"', 'Age', '1', 'Vary', 'a', 'Vary', 'b'],
    ...['WWW-Authenticate', 'Basic realm="a, b"', 'WWW-Authenticate', 'Bearer', 'Cache-Control', 'no-store'],
    ...['Server', 'origin/1', 'Location', '/x?\xe9', 'Content-Encoding', 'br', 'X-Powered-By', 'y', '__proto__', 'p'],
    ...['Access-Control-Allow-Origin', '*', 'Age', '2', 'Allow', 'GET', 'Content-Digest', 'sha-256=:AA==:'],
  ]

  test('arrive with their order, casing, repetitions and bytes', async () => {
    const { send } = await rig(undefined, answering(...keptFields))

    const { answer } = await send()

    expect(withoutFields(answer.fields, ...addedToResponse)).toEqual(keptFields)
    expect(answer.body.toString()).toBe('ok')
  })

  test('arrive so when the body streams', async () => {
    const bytes = Buffer.concat([
      Buffer.from(answering(...keptFields).replace(/Content-Length: 2\r\n\r\nok$/, ''), 'latin1'),
      Buffer.from(`Content-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`),
    ])
    const { send } = await rig(undefined, bytes.toString('latin1'))

    const { answer } = await send()

    expect(withoutFields(answer.fields, ...addedToResponse)).toEqual(keptFields)
    expect(answer.body.length).toBe(300_000)
  })

  test.each(['caf\xc3\xa9', 'caf\xe9'])(
    'Content-Disposition behind a length arrives with its bytes: %j',
    async (name) => {
      const field = ['Content-Disposition', `attachment; filename="${name}"`]
      const response = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${field.join(': ')}\r\n\r\nok`
      const { send } = await rig(undefined, response)

      const { answer } = await send()

      expect(withoutFields(answer.fields, ...addedToResponse)).toEqual(field)
    },
  )

  test("the upstream's Date is kept, and one is made when it sends none", async () => {
    const date = 'Tue, 15 Nov 1994 08:12:31 GMT'
    const dated = await rig(undefined, answering('Date', date))
    const undated = await rig()

    const { answer } = await dated.send()
    const { answer: other } = await undated.send()

    expect(fieldValues(answer.fields, 'date')).toEqual([date])
    expect(fieldValues(other.fields, 'date')).toHaveLength(1)
  })

  test('those of this hop stop here, and those that Connection names', async () => {
    const { send } = await rig(
      undefined,
      answering(
        ...['Connection', 'x-hop , keep-alive', 'Keep-Alive', 'timeout=5', 'Proxy-Authenticate', 'Basic'],
        ...['X-Hop', '1', 'Proxy-Connection', 'x', 'Upgrade', 'h2c', 'Trailer', 'X', 'TE', 'trailers', 'X-Kept', '1'],
        ...['connection', 'X-Second', 'X-Second', '2', 'Proxy-Authentication-Info', 'x', 'HTTP2-Settings', 'x'],
      ),
    )

    const { answer } = await send()

    expect(withoutFields(answer.fields, ...addedToResponse)).toEqual(['X-Kept', '1'])
    expect(fieldValues(answer.fields, 'connection')).toEqual(['close'])
  })

  test('trailers are dropped', async () => {
    const { send } = await rig(
      undefined,
      'HTTP/1.1 200 OK\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: 1\r\n\r\n',
    )

    const { answer } = await send()

    expect(answer).toMatchObject({ whole: true, framing: 'chunked' })
    expect(answer.body.toString()).toBe('ok')
    expect(answer.fields.join()).not.toMatch(/late|trailer/i)
  })
})

describe('X-Request-Id', () => {
  test("a client's own is kept when it is sane, and one is made when it is not", async () => {
    const { send } = await rig()

    const kept = await send({ fields: ['x-request-ID', 'a/b+c=='] })
    const made = await send({ fields: ['X-Request-Id', 'a,b'] })

    expect([kept.arrived, kept.answer.fields].map((fields) => fieldValues(fields, 'x-request-id'))).toEqual([
      ['a/b+c=='],
      ['a/b+c=='],
    ])
    expect(fieldValues(made.answer.fields, 'x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)])
    expect(fieldValues(made.arrived, 'x-request-id')).toEqual(fieldValues(made.answer.fields, 'x-request-id'))
  })

  test('one is made for a client that sends none, or two', async () => {
    const { send } = await rig()

    const none = await send()
    const two = await send({ fields: ['X-Request-Id', 'a', 'X-Request-Id', 'b'] })

    for (const { arrived, answer } of [none, two]) {
      expect(fieldValues(answer.fields, 'x-request-id')[0]).toMatch(/^[0-9a-f]{32}$/)
      expect(fieldValues(arrived, 'x-request-id')).toEqual(fieldValues(answer.fields, 'x-request-id'))
    }
    expect(fieldValues(none.answer.fields, 'x-request-id')).not.toEqual(fieldValues(two.answer.fields, 'x-request-id'))
  })

  test("an upstream's own is replaced, in interim responses too", async () => {
    const { send } = await rig(
      () => ({ listen: { interim: 'relay' } }),
      `HTTP/1.1 103 Early Hints\r\nX-Request-Id: theirs\r\n\r\n${answering('X-Request-ID', 'theirs', 'x-request-id', 'again')}`,
    )

    const { answer } = await send({ fields: ['X-Request-Id', 'mine'] })

    expect(fieldValues(answer.fields, 'x-request-id')).toEqual(['mine'])
    expect(answer.interim.map(({ fields }) => fields)).toEqual([[]])
  })

  test('goes by another name when configured', async () => {
    const { send } = await rig(
      () => ({ requestId: { header: 'X-Correlation-Id' } }),
      answering('x-correlation-id', 'theirs'),
    )

    const { arrived, answer } = await send({ fields: ['X-Correlation-Id', 'mine', 'X-Request-Id', 'other'] })

    expect(fieldValues(arrived, 'x-correlation-id')).toEqual(['mine'])
    expect(fieldValues(answer.fields, 'x-correlation-id')).toEqual(['mine'])
    expect(fieldValues(arrived, 'x-request-id')).toEqual(['other'])
    expect(fieldValues(answer.fields, 'x-request-id')).toEqual([])
  })

  test('is left alone with `none`', async () => {
    const { send } = await rig(() => ({ requestId: { header: 'none' } }), answering('X-Request-Id', 'theirs'))

    const { arrived, answer } = await send({ fields: ['X-Request-Id', 'not, sane'] })

    expect(fieldValues(arrived, 'x-request-id')).toEqual(['not, sane'])
    expect(fieldValues(answer.fields, 'x-request-id')).toEqual(['theirs'])
  })
})

describe('x-fapi-interaction-id', () => {
  const id = 'c770aef3-6784-41f7-8e0e-ff5f97bddb3a'

  test('is echoed when the client sent one and the response lacks it', async () => {
    const { send } = await rig()

    const { arrived, answer } = await send({ fields: ['X-FAPI-Interaction-ID', id] })

    expect(fieldValues(arrived, 'x-fapi-interaction-id')).toEqual([id])
    expect(fieldValues(answer.fields, 'x-fapi-interaction-id')).toEqual([id])
  })

  test("is the upstream's when it sends one, and none when neither side does", async () => {
    const theirs = await rig(undefined, answering('X-Fapi-Interaction-Id', 'theirs'))
    const nobodys = await rig()

    const { answer } = await theirs.send({ fields: ['x-fapi-interaction-id', id] })
    const { answer: other } = await nobodys.send()

    expect(fieldValues(answer.fields, 'x-fapi-interaction-id')).toEqual(['theirs'])
    expect(fieldValues(other.fields, 'x-fapi-interaction-id')).toEqual([])
  })
})

describe('requestId: { header: x-fapi-interaction-id, format: uuid }', () => {
  const openBanking = () => ({ requestId: { header: 'x-fapi-interaction-id', format: 'uuid' } })
  const idsOf = (fields: readonly string[]): string[] => fieldValues(fields, 'x-fapi-interaction-id')
  // RFC 9562 §5.4
  const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

  // CDR, HTTP headers: a UUID where the client sent none, else the client's own, in every response.
  test('every response has one id, which the upstream has got', async () => {
    const { send } = await rig(openBanking, answering('x-fapi-interaction-id', 'theirs'))

    const { arrived, answer } = await send()

    expect(idsOf(answer.fields)).toEqual([expect.stringMatching(uuidV4)])
    expect(idsOf(arrived)).toEqual(idsOf(answer.fields))
  })

  test("a client's own is played back once, to the byte", async () => {
    const { send } = await rig(openBanking)

    const { arrived, answer } = await send({ fields: ['X-Fapi-Interaction-Id', 'C770AEF3-1'] })

    expect([idsOf(arrived), idsOf(answer.fields)]).toEqual([['C770AEF3-1'], ['C770AEF3-1']])
  })

  test.each(['GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n', 'nonsense\r\n\r\n'])(
    'an error of the gateway has one: %j',
    async (bytes) => {
      const { booted } = await rig(openBanking)

      const text = await exchangeRaw(booted.port, bytes)

      const [, id = ''] = /^x-fapi-interaction-id: (.*)$/m.exec(text) ?? []
      expect(id.trim()).toMatch(uuidV4)
      expect(text).toContain(`"requestId":"${id.trim()}"`)
    },
  )
})

describe('configured edits', () => {
  test('set and remove fields of the request', async () => {
    const { send } = await rig((origin) => ({
      upstreams: {
        market: {
          endpoints: [origin],
          request: { set: { 'X-Api-Key': 'k\xe9y', 'X-New': 'n' }, remove: ['Cookie', 'x-ABSENT'] },
        },
      },
    }))

    const { arrived } = await send({
      fields: ['cookie', 'a=1', 'x-api-key', 'forged', 'X-Kept', '1', 'X-API-KEY', 'again', 'Cookie', 'b=2'],
    })

    expect(withoutFields(arrived, ...added)).toEqual(['X-Kept', '1', 'X-Api-Key', 'k\xe9y', 'X-New', 'n'])
  })

  test('set and remove fields of the response, and remove them from interim ones', async () => {
    const { send } = await rig(
      (origin) => ({
        listen: { interim: 'relay' },
        upstreams: {
          market: {
            endpoints: [origin],
            response: { set: { 'Cache-Control': 'no-store' }, remove: ['Server', 'X-Powered-By'] },
          },
        },
      }),
      `HTTP/1.1 103 Early Hints\r\nServer: x\r\nCache-Control: y\r\nLink: z\r\n\r\n${answering(
        ...['server', 'x', 'CACHE-control', 'public', 'X-Kept', '1', 'x-powered-by', 'y', 'Cache-Control', 'max-age=1'],
      )}`,
    )

    const { answer } = await send()

    expect(withoutFields(answer.fields, ...addedToResponse)).toEqual(['X-Kept', '1', 'Cache-Control', 'no-store'])
    expect(answer.interim.map(({ fields }) => fields)).toEqual([['Link', 'z']])
  })

  test('take a value from a file, without its line end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'secret-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'key')
    writeFileSync(file, 's3cret\n')
    const { send, booted } = await rig((origin) => ({
      upstreams: { market: { endpoints: [origin], request: { set: { 'X-Api-Key': `file:${file}` } } } },
    }))

    const { arrived } = await send({ fields: ['X-Request-Id', 'with-secret'] })

    const line = await booted.line(({ requestId }) => requestId === 'with-secret')
    expect(fieldValues(arrived, 'x-api-key')).toEqual(['s3cret'])
    expect(JSON.stringify(line)).not.toContain('s3cret')
  })
})
