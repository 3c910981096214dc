/** Responses are held to the contract as the client gets them: with the fields that the gateway adds. */
import { afterAll, describe, expect, test } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { documentOf } from '../../openapi/document.ts'

const enforce = { request: 'enforce', response: 'enforce' }
const headers = (names: readonly string[], schema: object = { type: 'string' }) =>
  Object.fromEntries(names.map((name) => [name, { required: true, schema }]))
/** A contract whose responses have these fields, by their paths. */
const requiring = (fields: Readonly<Record<string, object>>, atEnd?: typeof afterAll) =>
  contractFile(
    {
      openapi: '3.1.1',
      paths: Object.fromEntries(
        Object.entries(fields).map(([path, headers]) => [
          path,
          { get: { responses: { 200: { description: 'ok', headers } } } },
        ]),
      ),
    },
    atEnd,
  )
const upstreamWith = async (fields: readonly string[] = []) =>
  (
    await httpUpstream((_, response) => {
      response.writeHead(200, ['Content-Type', 'application/json', ...fields])
      response.end('{}')
    })
  ).url

/** What makes the gateway add every field that it can add. */
const everyField: Settings = {
  tracing: { serverTiming: true },
  limits: { address: { rate: '1000/s' } },
  operations: { 'market.insights': { cache: true } },
}
const ownFields = headers(['X-Request-Id', 'Via', 'Date', 'Server-Timing', 'RateLimit', 'Cache-Status'])
const hexId = headers(['X-Request-Id'], { type: 'string', pattern: '^[0-9a-f]{32}$' })

describe('the document of the gateway itself, enforced, lets through', () => {
  test.each<[string, Settings]>([
    ['every field of its own', everyField],
    ['no request id', { requestId: { header: 'none' } }],
  ])('all nine with %s', async (_, settings) => {
    const file = contractFile(documentOf(settings))
    const { port } = await bootGateway({ ...settings, contract: { file, ...enforce } })

    const statuses = await Promise.all(
      allOperations.map(async ({ method, path }) => {
        const body = method === 'POST' ? { body: Buffer.from('{}') } : {}
        const { status } = await call(port, { method, target: path, ...body })
        return [path, status]
      }),
    )

    expect(statuses).toEqual(allOperations.map(({ path }) => [path, 200]))
  })

  test("the upstream's own statuses and types", async () => {
    const answers: readonly [status: number, fields: readonly string[], body: string][] = [
      [200, ['Content-Type', 'text/html'], '<p>'],
      [204, [], ''],
      [404, ['Content-Type', 'application/problem+json'], '{}'],
      [500, ['Content-Type', 'application/json; charset=utf-8'], '{"error":2}'],
      [503, ['Content-Type', 'text/plain', 'Via', '1.1 varnish'], 'busy'],
    ]
    let at = 0
    const upstream = await httpUpstream((_, response) => {
      const [status = 0, fields = [], body = ''] = answers[at] ?? []
      response.writeHead(status, [...fields])
      response.end(body)
    })
    const file = contractFile(documentOf())
    const { port } = await bootGateway({ upstream: upstream.url, contract: { file, ...enforce } })

    for (const [status, , body] of answers) {
      const response = await call(port)
      expect([response.status, response.body.toString()]).toEqual([status, body])
      at++
    }
  })
})

// Each of them is added behind the layers, or by one outside the contract's.
describe('for the contract', () => {
  const paths = {
    '/market/insights': ownFields,
    // RFC 9110 §5.3: Via and RateLimit are lists. The gateway adds a line of its own.
    '/leads/pipeline': headers(['Via', 'Server-Timing']),
    '/analysis/esg-grant': headers(['x-fapi-interaction-id'], { type: 'string', maxLength: 4 }),
    '/compliance/audit-trail': { ...hexId, 'X-Version': { required: true, schema: {} } },
  }
  const shared = liveGatewayForAll({ ...everyField, contract: { file: requiring(paths, afterAll), ...enforce } })
  const answerWith = (fields: readonly string[]) =>
    shared.answerWith((_, response) => {
      response.writeHead(200, ['Content-Type', 'application/json', ...fields])
      response.end('{}')
    })
  const get = (target: string, fields: readonly string[] = []) => call(shared.port, { target, fields })

  test('a field that the gateway adds is there', async () => {
    answerWith([])

    const response = await get('/market/insights')

    expect(response.status).toBe(200)
    for (const name of Object.keys(ownFields)) expect(fieldValues(response.fields, name)).toHaveLength(1)
  })

  test('a list that several add to is one value', async () => {
    answerWith(['Via', '1.1 one', 'Via', '1.1 two', 'Server-Timing', 'db;dur=1'])

    expect((await get('/leads/pipeline')).status).toBe(200)
  })

  test('an id of the interaction that the gateway repeats is there, and compared', async () => {
    answerWith([])

    const statuses = []
    for (const id of [[], ['x-fapi-interaction-id', 'abcd'], ['x-fapi-interaction-id', 'abcde']])
      statuses.push((await get('/analysis/esg-grant', id)).status)

    expect(statuses).toEqual([502, 200, 502])
  })

  test('the request id is as the gateway writes it, and what the upstream leaves out is not there', async () => {
    answerWith(['X-Request-Id', 'not-hex', 'X-Version', '1'])
    const whole = await get('/compliance/audit-trail')
    answerWith([])
    const without = await get('/compliance/audit-trail')

    expect([whole.status, without.status]).toEqual([200, 502])
    const line = await shared.live.line(
      ({ operation, status }) => operation === 'compliance.audit-trail' && status === 502,
    )
    expect(line.cause).toMatch(/^header \/x-version required/)
  })
})

test.each([['X-Correlation-Id'], ['none']])('the request id is in no other field than %s', async (header) => {
  const { port } = await bootGateway({
    requestId: { header },
    upstream: await upstreamWith(),
    contract: { file: requiring({ '/market/insights': hexId }), ...enforce },
  })

  expect((await call(port)).status).toBe(502)
})

test('the request id in x-fapi-interaction-id stands there once, also where the client has sent it', async () => {
  const { port } = await bootGateway({
    requestId: { header: 'x-fapi-interaction-id' },
    upstream: await upstreamWith(['x-fapi-interaction-id', 'of-the-upstream']),
    contract: { file: requiring({ '/market/insights': headers(['x-fapi-interaction-id']) }), ...enforce },
  })

  const own = await call(port)
  const kept = await call(port, { fields: ['x-fapi-interaction-id', 'of-the-client'] })

  expect(fieldValues(own.fields, 'x-fapi-interaction-id')).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)])
  expect(fieldValues(kept.fields, 'x-fapi-interaction-id')).toEqual(['of-the-client'])
})

test('the side that serves is there, and what an upstream says of it is not', async () => {
  const upstream = await upstreamWith(['X-Side', 'forged'])
  const sides = headers(['X-Side'], { enum: ['primary', 'candidate'] })
  const { port } = await bootGateway({
    upstream,
    upstreams: {
      market: { endpoints: [upstream], candidate: { endpoints: [upstream], share: '50%', expose: 'X-Side' } },
    },
    contract: { file: requiring({ '/market/insights': sides }), ...enforce },
  })

  expect((await call(port)).status).toBe(200)
})
