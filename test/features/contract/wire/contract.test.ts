/** A contract over real sockets, beside what comes before, behind and around a message. */
import { afterAll, describe, expect, test, vi } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream, type Responder } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const enforce = { request: 'enforce', response: 'enforce' }
const goodRequest = '{"id":"a","amount":10.00,"parts":[{"id":"b"}]}'
const goodResponse = '{"grade":"A", "score":1.0}'
const badResponse = '{"grade":"Z"}'
const ok = { 200: { description: 'ok' } }

const closed = { type: 'object', properties: { id: {} }, additionalProperties: false }
const closedBody = {
  type: 'object',
  properties: {
    items: { type: 'array', maxItems: 1, items: { properties: { id: {} }, unevaluatedProperties: false } },
    map: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { type: 'integer' } },
  },
  additionalProperties: false,
}
const lists = { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' }, maxItems: 2 } } }
const contentOf = (schema: object) => ({ content: { 'application/json': { schema } } })
const deepObject = (schema: object) => [{ name: 'p', in: 'query', style: 'deepObject', schema }]
const document = {
  ...sampleContract,
  paths: {
    ...sampleContract.paths,
    '/valuation/forecast': sampleContract.paths['/valuation/score'],
    '/leads/pipeline': { get: { parameters: deepObject(lists), responses: ok } },
    '/inventory/sync': {
      post: { parameters: deepObject(closed), requestBody: contentOf(closedBody), responses: ok },
    },
    '/compliance/audit-trail': {
      get: { responses: { 200: { description: 'ok', ...contentOf({ type: 'object', required: ['grade'] }) } } },
    },
  },
}

const shared = liveGatewayForAll({
  contract: { file: contractFile(document, afterAll), ...enforce, maxBody: '32KiB' },
  listen: { interim: 'relay' },
  operations: {
    'valuation.forecast': { contract: { request: 'report', response: 'report' } },
    'compliance.audit-trail': { cache: true },
  },
})

const json =
  (body: string, fields: readonly string[] = []): Responder =>
  (_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json', ...fields])
    response.end(body)
  }

const post = (body: string, { type = 'application/json', target = '/valuation/score', chunkBytes = 0 } = {}) =>
  call(shared.port, {
    method: 'POST',
    target,
    fields: ['Content-Type', type],
    body: Buffer.from(body),
    ...(chunkBytes === 0 ? {} : { chunkBytes }),
  })

interface Problem {
  readonly code: string
  readonly errors: readonly { readonly pointer: string; readonly rule: string }[]
}

const problemOf = ({ body }: { readonly body: Buffer }): Problem => JSON.parse(body.toString())

const raw = (body: string): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`

describe('enforced', () => {
  test.each([0, 10])('what keeps the contract passes byte for byte, in chunks of %i', async (chunkBytes) => {
    shared.answerWith(json(goodResponse))

    const response = await post(goodRequest, { target: '/valuation/score?mode=fast', chunkBytes })

    expect([response.status, response.body.toString()]).toEqual([200, goodResponse])
    expect(shared.received().map(({ body }) => body.toString())).toEqual([goodRequest])
  })

  test('a request that breaks it gets 400 with the places, of its head before those of its body', async () => {
    shared.answerWith(json(goodResponse))
    const body = '{"amount":-7,"parts":[{"id":12345}]}'

    const [ofHead, ofBody] = [await post(body, { target: '/valuation/score?mode=slow' }), await post(body)]

    expect([ofHead.status, problemOf(ofHead).code]).toEqual([400, 'invalid-request'])
    expect([ofHead, ofBody].map((each) => problemOf(each).errors)).toEqual([
      [{ pointer: '/mode', in: 'query', rule: 'enum', detail: 'must be one of "fast", "full"' }],
      [
        { pointer: '/id', in: 'body', rule: 'required', detail: "must have required property 'id'" },
        { pointer: '/amount', in: 'body', rule: 'minimum', detail: 'must be >= 0' },
        { pointer: '/parts/0/id', in: 'body', rule: 'type', detail: 'must be string' },
      ],
    ])
    expect(shared.received()).toEqual([])
  })

  test('another type gets 415', async () => {
    const response = await post(goodRequest, { type: 'text/plain' })

    expect([response.status, problemOf(response).code]).toEqual([415, 'unsupported-media-type'])
  })

  test('a response that breaks it becomes 502, and the client learns nothing of it', async () => {
    shared.answerWith(json(badResponse))

    const response = await post(goodRequest)

    const { requestId: _, ...problem } = JSON.parse(response.body.toString())
    expect([response.status, problem]).toEqual([
      502,
      { type: 'about:blank', title: 'Bad Gateway', status: 502, code: 'invalid-response' },
    ])
    const line = await shared.live.line(({ failure }) => failure === 'invalid-response')
    expect(line.cause).toBe('body /grade pattern: must match pattern "^[A-F]$"')
  })

  test('arrays in deepObject are checked, and forwarded as they came', async () => {
    const targets: string[] = []
    shared.answerWith(({ url }, response) => {
      targets.push(url)
      response.end()
    })
    const kept = '/leads/pipeline?p%5Ba%5D[1]=2&p[a][0]=1'

    const good = await call(shared.port, { target: kept })
    const bad = await call(shared.port, { target: '/leads/pipeline?p[a]=1&p[a]=x' })

    expect([good.status, bad.status, targets]).toEqual([200, 400, [kept]])
    expect(problemOf(bad).errors).toMatchObject([{ pointer: '/p/a/1', rule: 'type' }])
  })

  test('a body of exactly contract.maxBody is checked, one byte more passes unchecked', async () => {
    shared.answerWith(json(goodResponse))
    const broken = (bytes: number): string => `{"id":1${' '.repeat(bytes - 8)}}`

    expect([(await post(broken(32_768))).status, (await post(broken(32_769))).status]).toEqual([400, 200])
    expect(shared.received().map(({ body }) => body.length)).toEqual([32_769])
  })

  test.each([
    ['keeps the contract', goodResponse, 200],
    ['breaks it', badResponse, 502],
  ])('a 103 goes ahead of a response that %s, and its trailers end here', async (_, body, status) => {
    shared.answerWith((_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => {
        response.writeHead(200, ['Content-Type', 'application/json', 'Trailer', 'X-Grade'])
        response.addTrailers({ 'X-Grade': 'planted' })
        response.end(body)
      })
    })

    const text = await exchangeRaw(shared.port, raw('{"id":"a"}'))

    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 103', `HTTP/1.1 ${status}`])
    expect(text).not.toContain('planted')
  })

  test('what a revalidation in the background brings is held to it before it is stored', async () => {
    const stale = 'max-age=60, stale-while-revalidate=600'
    const answers = [
      ['{"grade":"A"}', stale, '61'],
      ['{"other":"A"}', stale, '61'],
      ['{"grade":"B"}', 'max-age=60', '0'],
    ]
    let at = 0
    shared.answerWith((request, response) => {
      const [body = '', control = '', age = '0'] = answers[Math.min(at++, 2)] ?? []
      json(body, ['Cache-Control', control, 'Age', age])(request, response)
    })
    const bodies = new Set<string>()

    await vi.waitFor(async () => {
      const { body } = await call(shared.port, { target: '/compliance/audit-trail' })
      bodies.add(body.toString())
      expect(body.toString()).toBe('{"grade":"B"}')
    }, 30_000)

    expect(bodies).toEqual(new Set(['{"grade":"A"}', '{"grade":"B"}']))
  })
})

test('reported, what breaks it passes untouched', async () => {
  shared.answerWith(json(badResponse))

  const response = await post('{"a":1,"a":2}', { target: '/valuation/forecast' })

  expect([response.status, response.body.toString()]).toEqual([200, badResponse])
  expect(shared.received()[0]?.body.toString()).toBe('{"a":1,"a":2}')
})

// The log and the drift report do not have the name.
describe('a client learns which of its own members is too many:', () => {
  const send = async (body: object, query = '') => {
    const response = await post(JSON.stringify(body), { target: `/inventory/sync${query}` })
    const { body: report } = await fetchAdmin(`${shared.live.admin}/contract`)
    return {
      text: response.body.toString('latin1'),
      pointers: problemOf(response)
        .errors.map(({ pointer, rule }) => `${pointer} ${rule}`)
        .toSorted(),
      elsewhere: JSON.stringify([shared.live.lines, report]),
    }
  }

  test('each is named to it, and * elsewhere', async () => {
    const { pointers, elsewhere } = await send({ colour: 1, 'size/~': 2, items: [{ id: 1, weight: 2 }] })

    expect(pointers).toEqual([
      '/colour additionalProperties',
      '/items/0/weight unevaluatedProperties',
      '/size~1~0 additionalProperties',
    ])
    expect(elsewhere).not.toMatch(/colour|size|weight/)
    expect(elsewhere).toContain('/items/*/*')
  })

  test('so are a name that is not allowed, what a name leads to, too many items, and a member of a parameter', async () => {
    const ofBody = await send({ map: { longer: 1, xyz: 'x' }, items: [{ id: 1 }, { id: 2 }] })
    const ofQuery = await send({}, '?p[colour]=1')

    expect(ofBody.pointers).toEqual(['/items maxItems', '/map maxLength', '/map/xyz type', '/map/longer propertyNames'])
    expect(ofQuery.pointers).toEqual(['/p/colour additionalProperties'])
    expect(ofBody.elsewhere + ofQuery.elsewhere).not.toMatch(/longer|xyz|colour/)
  })

  // What a terminal would act upon: C0, DEL, C1 and the marks that turn the direction of writing.
  test('a name is cut to 200 characters, and its text is ASCII without control characters', async () => {
    const hostile = `\u001b[2J\u007f\u009b\u202e\ud800é${'x'.repeat(10_000)}`

    const { text, pointers } = await send({ [hostile]: 1 })

    expect(text).toMatch(/^[\x20-\x7e]*$/)
    const [pointer = ''] = pointers
    expect(pointer.replace(/ additionalProperties$/, '')).toHaveLength(200)
    expect(pointer.startsWith('/\u001b[2J\u007f\u009b\u202e')).toBe(true)
  })
})

test('rejected messages are in their trace: a request with no attempt, a response with one', async () => {
  const receiver = await spanReceiver()
  const upstream = await httpUpstream(json(badResponse))
  const { port, gateway } = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), ...enforce },
    tracing: { otlp: receiver.url, sample: '100%' },
  })

  await exchangeRaw(port, raw('{}'))
  await exchangeRaw(port, raw('{"id":"a"}'))
  await gateway.close()

  const servers = receiver.spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes: a }) => [a['error.type'], a['lender_gateway.reason']])).toEqual([
    ['invalid-request', 'contract-body'],
    ['invalid-response', 'contract-answer-body'],
  ])
  expect(receiver.spans.filter(({ kind }) => kind === 'client')).toHaveLength(1)
  expect(JSON.stringify(receiver.spans)).not.toContain('grade')
})

test('where no field carries request ids, a row of the drift report leads to its line of the log all the same', async () => {
  const live = await bootLiveGateway({
    contract: { file: contractFile(), ...enforce },
    requestId: { header: 'none' },
  })

  expect(parseStatus(await exchangeRaw(live.gateway.address.port, raw('{}')))).toBe(400)
  const { requestId } = await live.line(({ msg }) => msg === 'exchange')

  const { body } = await fetchAdmin(`${live.admin}/contract`)
  expect(body).toMatchObject({ rows: [{ requestId }] })
})

// `check` warns of it: test/features/contract/config.test.ts.
test('a contract that requires the key of a client rejects with it too: the key is gone before the check', async () => {
  const parameters = [{ name: 'X-Api-Key', in: 'header', required: true, schema: { type: 'string' } }]
  const get = { parameters, responses: { 200: { description: 'insights' } } }
  const file = contractFile({ openapi: '3.1.1', paths: { '/market/insights': { get } } })
  const { gateway } = await bootApiKeyGateway('all', { contract: { file, request: 'enforce' } })

  const response = await fetch(`${gateway.url}/market/insights`, { headers: { 'X-Api-Key': key } })

  expect(response.status).toBe(400)
})
