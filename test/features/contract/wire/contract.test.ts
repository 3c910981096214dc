/** A contract over real sockets, beside what comes before, behind and around a message. */
import { afterAll, describe, expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { respondJson } from '../../../helpers/json-responder.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, sha256 } from '../../../helpers/wire.ts'
import { insights, jsonOf } from '../compile/loading.ts'

const enforce = { request: 'enforce', response: 'enforce' }
const badResponse = '{"grade":"Z"}'

const closed = { type: 'object', properties: { id: {} }, additionalProperties: false }
const closedBody = {
  type: 'object',
  properties: {
    items: { type: 'array', maxItems: 1, items: { properties: { id: {} }, unevaluatedProperties: false } },
    map: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { type: 'integer' } },
  },
  additionalProperties: false,
}
const parameters = [{ name: 'p', in: 'query', style: 'deepObject', schema: closed }]
const post = { parameters, requestBody: jsonOf(closedBody), responses: { 200: { description: 'ok' } } }
const paths = { ...sampleContract.paths, '/inventory/sync': { post } }

const shared = liveGatewayForAll({
  contract: { file: contractFile({ ...sampleContract, paths }, afterAll), ...enforce, maxBody: '1KiB' },
  listen: { interim: 'relay' },
})

const head =
  'POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nConnection: close\r\n'
const raw = (body: string): string => `${head}Content-Length: ${body.length}\r\n\r\n${body}`

const send = async (body: string, target = '/valuation/score') => {
  const fields = ['Content-Type', 'application/json']
  const response = await call(shared.port, { method: 'POST', target, fields, body: Buffer.from(body) })
  const { requestId: _, ...problem } = JSON.parse(response.body.toString())
  return { status: response.status, text: response.body.toString('latin1'), problem }
}

test('a request that breaks it gets 400 with the places, of its head before those of its body', async () => {
  shared.respondWith(respondJson(''))
  const body = '{"amount":-7,"parts":[{"id":12345}]}'

  const [ofHead, ofBody] = [await send(body, '/valuation/score?mode=slow'), await send(body)]

  expect([ofHead.status, ofHead.problem.code]).toEqual([400, 'invalid-request'])
  expect([ofHead, ofBody].map(({ problem }) => problem.errors)).toEqual([
    [{ pointer: '/mode', in: 'query', rule: 'enum', detail: 'must be one of "fast", "full"' }],
    [
      { pointer: '/id', in: 'body', rule: 'required', detail: "must have required property 'id'" },
      { pointer: '/amount', in: 'body', rule: 'minimum', detail: 'must be >= 0' },
      { pointer: '/parts/0/id', in: 'body', rule: 'type', detail: 'must be string' },
    ],
  ])
  expect(shared.received()).toEqual([])
})

test('a response that breaks it becomes 502, and the client learns nothing of it', async () => {
  shared.respondWith(respondJson(badResponse))
  const { problem } = await send('{"id":"a"}')

  expect(problem).toEqual({ type: 'about:blank', title: 'Bad Gateway', status: 502, code: 'invalid-response' })
  const line = await shared.live.line(({ failure }) => failure === 'invalid-response')
  expect(line.cause).toBe('body /grade pattern: must match pattern "^[A-F]$"')
})

test('a chunked body whose first chunk is beyond contract.maxBody reaches the upstream whole, as one request', async () => {
  shared.respondWith(respondJson('{"grade":"A"}'))
  const body = `{"id":"a"${' '.repeat(5000)}}GET /leads/pipeline HTTP/1.1\r\nHost: a\r\n\r\n`
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

  expect(parseStatus(await exchangeRaw(shared.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`))).toBe(200)
  expect(shared.received().map((each) => each.sha256)).toEqual([sha256(Buffer.from(body))])
  expect(shared.begun()).toBe(1)
})

test.each([
  ['keeps the contract', '{"grade":"A", "score":1.0}', 200],
  ['breaks it', badResponse, 502],
])('a 103 goes ahead of a response that %s, and its trailers end here', async (_, body, status) => {
  shared.respondWith((_request, response) => {
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

// The log and the drift report do not have the name.
describe('a client learns which of its own members is too many:', () => {
  const sendMembers = async (body: object, query = '') => {
    const { text, problem } = await send(JSON.stringify(body), `/inventory/sync${query}`)
    const { body: report } = await fetchAdmin(`${shared.live.admin}/contract`)
    const errors: readonly { readonly pointer: string; readonly rule: string }[] = problem.errors
    return {
      text,
      pointers: errors.map(({ pointer, rule }) => `${pointer} ${rule}`).toSorted(),
      elsewhere: JSON.stringify([shared.live.lines, report]),
    }
  }

  const tooMany = { color: 1, 'size/~': 2, items: [{ id: 1, weight: 2 }] }
  const notAllowed = ['/color additionalProperties', '/size~1~0 additionalProperties']
  const ofTooMany = [...notAllowed, '/items/0/weight unevaluatedProperties'].toSorted()
  const wrong = { map: { longer: 1, xyz: 'x' }, items: [{ id: 1 }, { id: 2 }] }
  const ofWrong = ['/items maxItems', '/map maxLength', '/map/longer propertyNames', '/map/xyz type']

  test.each<[string, object, string, readonly string[], RegExp]>([
    ['each is named to it, and * elsewhere', tooMany, '', ofTooMany, /^(?!.*(color|size|weight)).*\/items\/\*\/\*/],
    ['so are other names, what a name leads to, and too many items', wrong, '', ofWrong, /^(?!.*(longer|xyz))/],
    ['so is a member of a parameter', {}, '?p[color]=1', ['/p/color additionalProperties'], /^(?!.*color)/],
  ])('%s', async (_, body, query, expected, told) => {
    const { pointers, elsewhere } = await sendMembers(body, query)

    expect(pointers).toEqual(expected)
    expect(elsewhere).toMatch(told)
  })

  // What a terminal would act upon: C0, DEL, C1 and the marks that turn the direction of writing.
  test('a name is cut to 200 characters, and its text is ASCII without control characters', async () => {
    const hostile = '\u001b[2J\u007f\u009b\u202e\ud800é'
    const { text, pointers } = await sendMembers({ [`${hostile}${'x'.repeat(500)}`]: 1 })

    expect(text).toMatch(/^[\x20-\x7e]*$/)
    const pointer = pointers[0]?.replace(/ additionalProperties$/, '')
    expect([pointer?.length, pointer?.slice(0, 8)]).toEqual([200, `/${hostile.slice(0, 7)}`])
  })
})

test('rejected messages are in their trace: a request with no attempt, a response with one', async () => {
  const receiver = await spanReceiver()
  const { port, gateway } = await bootGateway({
    upstream: (await httpUpstream(respondJson(badResponse))).url,
    contract: { file: contractFile(), ...enforce },
    tracing: { otlp: receiver.url, sample: '100%' },
  })

  await exchangeRaw(port, raw('{}'))
  await exchangeRaw(port, raw('{"id":"a"}'))
  await gateway.close()

  const servers = receiver.spans.filter(({ kind }) => kind === 'server')
  const told = servers.map(({ attributes: a }) => `${a['error.type']} ${a['lender_gateway.reason']}`)
  expect(told).toEqual(['invalid-request contract-body', 'invalid-response contract-response-body'])
  expect(receiver.spans.filter(({ kind }) => kind === 'client')).toHaveLength(1)
  expect(JSON.stringify(receiver.spans)).not.toContain('grade')
})

test('where no field carries request ids, a row of the drift report leads to its line of the log all the same', async () => {
  const live = await bootLiveGateway({ contract: { file: contractFile(), ...enforce }, requestId: { header: 'none' } })
  expect(parseStatus(await exchangeRaw(live.gateway.address.port, raw('{}')))).toBe(400)
  const { requestId } = await live.line(({ msg }) => msg === 'exchange')

  expect((await fetchAdmin(`${live.admin}/contract`)).body).toMatchObject({ rows: [{ requestId }] })
})

// `check` warns of it: test/features/contract/config.test.ts.
test('a contract that requires the key of a client rejects with it too: the key is gone before the check', async () => {
  const parameters = [{ name: 'X-Api-Key', in: 'header', required: true, schema: { type: 'string' } }]
  const contract = { file: contractFile(insights({ parameters })), request: 'enforce' }
  const { gateway } = await bootApiKeyGateway('all', { contract })

  expect((await fetch(`${gateway.url}/market/insights`, { headers: { 'X-Api-Key': key } })).status).toBe(400)
})
