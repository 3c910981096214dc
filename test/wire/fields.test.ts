import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openGateway, type Settings, type TestGateway } from '../helpers/gateway.ts'
import { exchangeRaw } from '../helpers/raw-client.ts'
import { onRequest, openRawUpstream, type RawUpstream } from '../helpers/upstream.ts'
import { call, fieldValues, type WireRequest, withoutFields } from '../helpers/wire.ts'

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

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const responding = (...fields: string[]): string => {
  const lines = fields.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${fields[i + 1]}\r\n`] : []))
  return `HTTP/1.1 200 OK\r\n${lines.join('')}Content-Length: 2\r\n\r\nok`
}

/** Opens a gateway, one for each kind of settings. */
const boot = (settings: Settings = {}): Promise<TestGateway> => {
  const key = JSON.stringify(settings)
  const opening = gateways.get(key) ?? openGateway({ upstream: upstream.url, ...settings })
  gateways.set(key, opening)
  return opening
}

const market = (group: object): Settings => ({ upstreams: { market: { endpoints: [upstream.url], ...group } } })

/**
 * Sends a request to an upstream that responds with bytes (latin1). Returns the upstream's request and the client's
 * response.
 */
const exchange = async (request: WireRequest = {}, settings: Settings = {}, responseBytes = plain) => {
  const { port, line: logged } = await boot(settings)
  response = responseBytes
  const result = await call(port, request)
  const head = heads.at(-1) ?? ''
  const [line = '', ...lines] = head.trimEnd().split('\r\n')
  const arrived = lines.flatMap((each) => {
    const colon = each.indexOf(':')
    return [each.slice(0, colon), each.slice(colon + 2)]
  })
  /** The values of a field: those that arrived, and those that came back. */
  const both = (name: string) => [fieldValues(arrived, name), fieldValues(result.fields, name)]
  return { line, head, arrived, result, both, logged }
}

/** Names what the gateway adds to a request. */
const added = ['host', 'connection', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id']

/** Names what the gateway adds to a response. */
const addedToResponse = ['via', 'x-request-id', 'date', 'connection', 'keep-alive', 'content-length']

const everyHighByte = Buffer.from(Array.from({ length: 128 }, (_, i) => i + 128)).toString('latin1')

// request-head.test.ts and response-parser.test.ts have the rules of each field: these tests check the wire.
describe('the fields of a request', () => {
  // Each of these is legal, and easy to lose, fold, reorder or re-encode.
  const awkward = [
    ...['Zeta', '1', 'alpha', '2', 'ALPHA', '3', 'Accept', 'a', 'accept', 'b', 'Zeta', '4'],
    ...['X-Empty', '', 'X-Bytes', everyHighByte, 'X-Tab', 'a\tb', 'X-Quoted', '"a, b"; c="\\""'],
    ...['Cookie', 'a=1; b=2', 'Cookie', 'c=3', 'Authorization', 'Bearer a.b-c~d+/=', 'Signature', 'sig1=:YWJj:'],
    ...['Content-Digest', 'sha-256=:AA==:', "!#$%&'*+-.^_`|~09Az", 'token', '__proto__', 'p', 'constructor', 'c'],
    ...['If-None-Match', 'W/"a", "b"', 'Range', 'bytes=0-1', 'Idempotency-Key', 'k', 'Accept-Encoding', 'br'],
  ]

  test.each<[string, WireRequest]>([
    ['no body', {}],
    ['a body', { method: 'POST', target: '/valuation/score', body: Buffer.from('{}') }],
    ['a large body', { method: 'POST', target: '/valuation/score', body: Buffer.alloc(100_000) }],
    ['a body in a GET, which the file has forwarded', { body: Buffer.from('{}') }],
  ])('the fields of a request arrive with their order, casing, repetitions and bytes, with %s', async (_, request) => {
    const { arrived } = await exchange({ fields: awkward, ...request }, { listen: { getContent: 'forward' } })

    expect(withoutFields(arrived, ...added, 'content-length', 'transfer-encoding')).toEqual(awkward)
  })

  test('the fields of this hop stop here, and an upgrade with them', async () => {
    const ofThisHop = [
      ...['Keep-Alive', 'Proxy-Connection', 'Proxy-Authorization', 'Proxy-Authenticate', 'Proxy-Authentication-Info'],
      ...['TE', 'Trailer', 'Upgrade', 'HTTP2-Settings'],
    ].flatMap((name) => [name, 'close'])

    const { arrived, result, both } = await exchange({
      fields: [...ofThisHop, 'Connection', 'Upgrade, close, x-ONE', 'X-One', '1', 'X-After', '1'],
    })

    expect(result.status).toBe(200)
    expect(withoutFields(arrived, ...added)).toEqual(['X-After', '1'])
    expect(both('connection')[0]).toEqual(['keep-alive'])
  })

  test('the fields that the gateway adds cannot be removed by naming them in Connection', async () => {
    const named = 'close, X-Forwarded-For, X-Forwarded-Host, Via, X-Request-Id, Host, Content-Length'

    const { arrived } = await exchange({ fields: ['Connection', named] })

    for (const name of added) expect(fieldValues(arrived, name)).toHaveLength(1)
  })

  test('the fields about the body are rendered again: Expect stops here, and a length is the number alone', async () => {
    const { port } = await boot()
    const fields = 'Host: x\r\nExpect: 100-continue\r\nconTent-LENgth:   0003\r\nConnection: close'

    await exchangeRaw(port, `POST /valuation/score HTTP/1.1\r\n${fields}\r\n\r\nabc`)

    expect(heads.at(-1)?.match(/(expect|content-length).*/gi)).toEqual(['Content-Length: 3'])
  })

  test('the fields of a request arrive with every byte that a value may have', async () => {
    const value = `a\t${Array.from({ length: 95 }, (_, i) => String.fromCharCode(i + 32)).join('')}${everyHighByte}b`

    const { both } = await exchange({ fields: ['X-Value', value] })

    expect(both('x-value')[0]).toEqual([value])
  })
})

test('Via comes after those of earlier hops, and names the HTTP version of the client', async () => {
  const request = { version: '1.0', fields: ['Via', '1.1 first'] } as const

  const { both } = await exchange(request, { listen: { via: 'edge-1' } }, responding('Via', '1.1 origin-cache'))

  expect(both('via')).toEqual([
    ['1.1 first', '1.0 edge-1'],
    ['1.1 origin-cache', '1.1 edge-1'],
  ])
})

// forged-forwarded.test.ts has untrusted peers, forwarded.test.ts the parsing of the fields.
test('an HTTP/1.0 client without Host gets no X-Forwarded-Host', async () => {
  expect((await exchange({ version: '1.0' })).both('x-forwarded-host')[0]).toEqual([])
})

const asked = { fields: ['Host', 'API.lender.test:8443'] }

test.each<[string, string | null, WireRequest, string | null]>([
  ["the endpoint's own by default", null, asked, null],
  ["the endpoint's own where the client names none", 'client', { version: '1.0' }, null],
  ["the client's, byte for byte", 'client', asked, 'API.lender.test:8443'],
  ['that of the absolute form', 'client', { ...asked, target: 'http://other.test/market/insights?q' }, 'other.test'],
  ['a fixed name when one is configured', 'lender.internal', asked, 'lender.internal'],
])('Host is %s (`host: %s`)', async (_, host, request, expected) => {
  const { both } = await exchange(request, host === null ? {} : market({ host }))

  expect(both('host')[0]).toEqual([expected ?? `127.0.0.1:${upstream.port}`])
})

describe('the target', () => {
  test.each([
    ...['', '?', '??', '?a=1&a=2&&=', '?a=%2F%2f%00%zz%', '?q=a+b%20c', '?url=http://x/../..//&path=/valuation/score'],
    ...['?quote="<>\\^`{|}\'', '?semi;colon:at@', `?long=${'x'.repeat(8000)}`],
  ])('the target keeps its query, byte for byte: %.30s', async (query) => {
    const { line, result } = await exchange({ target: `/market/insights${query}` })

    expect([result.status, line]).toEqual([200, `GET /market/insights${query} HTTP/1.1`])
  })

  test('the target gets the path prefix of its endpoint', async () => {
    const { line } = await exchange({ target: '/market/insights?a' }, { upstreams: { market: `${upstream.url}/v2/x` } })

    expect(line).toBe('GET /v2/x/market/insights?a HTTP/1.1')
  })
})

describe('the fields of a response', () => {
  const keptFields = [
    ...['Zeta', '1', 'alpha', '2', 'ALPHA', '3', 'Set-Cookie', 'a=1; Path=/', 'Zeta', '4', 'set-cookie', 'b=2'],
    ...['X-Empty', '', 'X-Bytes', everyHighByte, 'ETag', 'W/"x"', 'Age', '1', 'Vary', 'a', 'Vary', 'b'],
    ...['WWW-Authenticate', 'Basic realm="a, b"', 'WWW-Authenticate', 'Bearer', 'Cache-Control', 'no-store'],
    ...['Server', 'origin/1', 'Location', '/x?\xe9', 'Content-Encoding', 'br', 'X-Powered-By', 'y', '__proto__', 'p'],
    ...['Access-Control-Allow-Origin', '*', 'Age', '2', 'Allow', 'GET', 'Content-Digest', 'sha-256=:AA==:'],
    ...['Content-Disposition', 'attachment; filename="caf\xc3\xa9"', 'Content-Disposition', 'filename="caf\xe9"'],
  ]

  test.each([2, 300_000])(
    'the fields of a response arrive with their order, casing, repetitions and bytes, before %d bytes',
    async (bytes) => {
      const body = 'x'.repeat(bytes)
      const behindLength = ['Content-Disposition', 'inline; filename="caf\xe9"']
      const more = `Content-Length: ${bytes}\r\n${behindLength.join(': ')}\r\n\r\n${body}`

      const { result } = await exchange({}, {}, responding(...keptFields).replace('Content-Length: 2\r\n\r\nok', more))

      expect(withoutFields(result.fields, ...addedToResponse)).toEqual([...keptFields, ...behindLength])
      expect(result.body.toString()).toBe(body)
    },
  )

  test('the fields of a response have the Date of the upstream, or one of the gateway when it sends none', async () => {
    const date = 'Tue, 15 Nov 1994 08:12:31 GMT'

    const [dated, undated] = [await exchange({}, {}, responding('Date', date)), await exchange()]

    expect(dated.both('date')[1]).toEqual([date])
    expect(undated.both('date')[1]).toHaveLength(1)
  })

  test('the response fields of this hop stop here, and those that Connection names', async () => {
    const { result, both } = await exchange(
      ...[{}, {}],
      responding(
        ...['Connection', 'x-hop , keep-alive', 'Keep-Alive', 'timeout=5', 'Proxy-Authenticate', 'Basic'],
        ...['X-Hop', '1', 'Proxy-Connection', 'x', 'Upgrade', 'h2c', 'Trailer', 'X', 'TE', 'trailers', 'X-Kept', '1'],
        ...['connection', 'X-Second', 'X-Second', '2', 'Proxy-Authentication-Info', 'x', 'HTTP2-Settings', 'x'],
      ),
    )

    expect(withoutFields(result.fields, ...addedToResponse)).toEqual(['X-Kept', '1'])
    expect(both('connection')[1]).toEqual(['close'])
  })
})

describe('an id', () => {
  const hex = expect.stringMatching(/^[0-9a-f]{32}$/)
  // RFC 9562 §5.4
  const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const fapi = 'x-fapi-interaction-id'
  const id = 'c770aef3-6784-41f7-8e0e-ff5f97bddb3a'
  // CDR, HTTP headers: a UUID where the client sent none, else the client's own, in every response.
  const openBanking = { requestId: { header: fapi, format: 'uuid' } }
  const correlated = { requestId: { header: 'X-Correlation-Id' } }
  const none = { requestId: { header: 'none' } }
  const theirs = (name: string): string => responding(name, 'theirs')

  type Values = readonly (readonly unknown[])[]

  test.each<[string, string, readonly string[], Settings, string, Values]>([
    ['is kept when it is sane', 'x-request-ID', ['a/b+c=='], {}, plain, [['a/b+c=='], ['a/b+c==']]],
    ['is made when there is none', 'X-Request-Id', [], {}, plain, [[hex], [hex]]],
    ['may have another name', 'X-Correlation-Id', ['a'], correlated, theirs('x-correlation-id'), [['a'], ['a']]],
    ['of the other name is then any field', 'X-Request-Id', ['a'], correlated, plain, [['a'], []]],
    ['is left alone with `none`', 'X-Request-Id', ['a, b'], none, theirs('X-Request-Id'), [['a, b'], ['theirs']]],
    ['of FAPI is echoed', fapi, [id], {}, plain, [[id], [id]]],
    ["of FAPI is the upstream's when it sends one", fapi, [id], {}, theirs(fapi), [[id], ['theirs']]],
    ['of FAPI is not made', fapi, [], {}, plain, [[], []]],
    ['that is a UUID is made, whatever the upstream sends', fapi, [], openBanking, theirs(fapi), [[uuid], [uuid]]],
    ['that should be a UUID is played back to the byte', fapi, ['C7-1'], openBanking, plain, [['C7-1'], ['C7-1']]],
  ])('%s: %s: %j', async (_, name, sent, settings, responseBytes, expected) => {
    const fields = sent.flatMap((value) => [name, value])

    const { both } = await exchange({ fields }, settings, responseBytes)

    const values = both(name)
    expect(values).toEqual(expected)
    if (values[0]?.[0] !== sent[0] && values[1]?.length === 1) expect(values[0]).toEqual(values[1])
  })

  test('the id of the upstream is replaced, in interim responses too', async () => {
    const twice = responding('X-Request-ID', 'theirs', 'x-request-id', 'again')
    const interim = 'HTTP/1.1 103 Early Hints\r\nX-Request-Id: theirs\r\n\r\n'

    const { both, result } = await exchange(
      { fields: ['X-Request-Id', 'mine'] },
      { listen: { interim: 'relay' } },
      interim + twice,
    )

    expect(both('x-request-id')[1]).toEqual(['mine'])
    expect(result.interim.map(({ fields }) => fields)).toEqual([[]])
  })

  test.each(['GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n', 'nonsense\r\n\r\n'])(
    'an id that is a UUID is in an error of the gateway: %j',
    async (bytes) => {
      const text = await exchangeRaw((await boot(openBanking)).port, bytes)

      const [, made = ''] = /^x-fapi-interaction-id: (.*)\r$/m.exec(text) ?? []
      expect(made).toEqual(uuid)
      expect(text).toContain(`"requestId":"${made}"`)
    },
  )
})

// header-mutation.test.ts has the rules.
describe('configured edits', () => {
  test('configured edits set and remove fields of the request, and take a value from a file, without its line end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'secret-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'key'), 's3cret\n')
    const set = { 'X-Api-Key': `file:${folder}/key`, 'X-New': 'k\xe9y' }
    const sent = ['cookie', 'a=1', 'x-api-key', 'forged', 'X-Kept', '1', 'X-API-KEY', 'again', 'X-Request-Id', 'kept']

    const { arrived, logged } = await exchange(
      { fields: sent },
      market({ request: { set, remove: ['Cookie', 'x-No'] } }),
    )

    expect(withoutFields(arrived, ...added)).toEqual(['X-Kept', '1', 'X-Api-Key', 's3cret', 'X-New', 'k\xe9y'])
    expect(JSON.stringify(await logged(({ requestId }) => requestId === 'kept'))).not.toContain('s3cret')
  })

  test('configured edits set and remove fields of the response, and remove them from interim responses', async () => {
    const edits = { set: { 'Cache-Control': 'no-store' }, remove: ['Server', 'X-Powered-By'] }
    const interim = 'HTTP/1.1 103 Early Hints\r\nServer: x\r\nCache-Control: y\r\nLink: z\r\n\r\n'
    const final = responding(
      ...['server', 'x', 'CACHE-control', 'public', 'X-Kept', '1', 'x-powered-by', 'y', 'Cache-Control', 'max-age=1'],
    )
    const settings = { listen: { interim: 'relay' }, ...market({ response: edits }) }

    const { result } = await exchange({}, settings, interim + final)

    expect(withoutFields(result.fields, ...addedToResponse)).toEqual(['X-Kept', '1', 'Cache-Control', 'no-store'])
    expect(result.interim.map(({ fields }) => fields)).toEqual([['Link', 'z']])
  })
})
