/** Responses are held to the contract as the client gets them: with the fields that the gateway adds. */
import { afterAll, describe, expect, test } from 'vitest'
import { allOperations, type Operation } from '../../../../src/operations.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { respondJson } from '../../../helpers/json-responder.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { documentOf } from '../../openapi/document.ts'

const enforce = { request: 'enforce', response: 'enforce' }
const headers = (names: readonly string[], schema: object = { type: 'string' }) =>
  Object.fromEntries(names.map((name) => [name, { required: true, schema }]))
/** A contract whose responses have these fields, by their paths. */
const requiring = (fields: Readonly<Record<string, object>>, atEnd?: typeof afterAll) => {
  const paths = Object.entries(fields).map(([path, headers]) => {
    return [path, { get: { responses: { 200: { description: 'ok', headers } } } }] as const
  })
  return contractFile({ openapi: '3.1.1', paths: Object.fromEntries(paths) }, atEnd)
}
/** What makes the gateway add every field that it can add. */
const everyField: Settings = {
  tracing: { serverTiming: true },
  limits: { address: { rate: '1000/s' } },
  operations: { 'market.insights': { cache: true } },
}
const ownFields = headers(['X-Request-Id', 'Via', 'Date', 'Server-Timing', 'RateLimit', 'Cache-Status'])
const hexId = headers(['X-Request-Id'], { type: 'string', pattern: '^[0-9a-f]{32}$' })
const interactionId = 'x-fapi-interaction-id'

describe('the document of the gateway itself, enforced, lets through', () => {
  test.each<[string, Settings]>([
    ['every field of its own', everyField],
    ['no request id', { requestId: { header: 'none' } }],
  ])('all nine with %s', async (_, settings) => {
    const contract = { file: contractFile(documentOf(settings)), ...enforce }
    const { port } = await bootGateway({ ...settings, contract })

    const ask = async ({ method, path: target }: Operation) => {
      const body = method === 'POST' ? { body: Buffer.from('{}') } : {}
      return (await call(port, { method, target, ...body })).status
    }

    expect(await Promise.all(allOperations.map(ask))).toEqual(allOperations.map(() => 200))
  })

  test("the upstream's own statuses and types", async () => {
    const results: readonly [status: number, fields: readonly string[], body: string][] = [
      [200, ['Content-Type', 'text/html'], '<p>'],
      [204, [], ''],
      [404, ['Content-Type', 'application/problem+json'], '{}'],
      [500, ['Content-Type', 'application/json; charset=utf-8'], '{"error":2}'],
      [503, ['Content-Type', 'text/plain', 'Via', '1.1 varnish'], 'busy'],
    ]
    let at = 0
    const upstream = await httpUpstream((_, response) => {
      const [status = 0, fields = [], body = ''] = results[at++] ?? []
      response.writeHead(status, [...fields])
      response.end(body)
    })
    const contract = { file: contractFile(documentOf()), ...enforce }
    const { port } = await bootGateway({ upstream: upstream.url, contract })

    for (const [status, , body] of results) {
      const response = await call(port)
      expect([response.status, response.body.toString()]).toEqual([status, body])
    }
  })
})

// Each of them is added behind the layers, or by one outside the contract's.
describe('for the contract', () => {
  const paths = {
    '/market/insights': ownFields,
    // RFC 9110 §5.3: Via and RateLimit are lists. The gateway adds a line of its own.
    '/leads/pipeline': headers(['Via', 'Server-Timing']),
    '/analysis/esg-grant': headers([interactionId], { type: 'string', maxLength: 4 }),
    '/compliance/audit-trail': { ...hexId, 'X-Version': { required: true, schema: {} } },
  }
  const shared = liveGatewayForAll({ ...everyField, contract: { file: requiring(paths, afterAll), ...enforce } })
  const versioned = ['X-Request-Id', 'not-hex', 'X-Version', '1']
  const lists = ['Via', '1.1 one', 'Via', '1.1 two', 'Server-Timing', 'db;dur=1']

  test.each<[string, number, string, readonly string[], readonly string[]]>([
    ['a field that the gateway adds is there', 200, '/market/insights', [], []],
    ['a list that several add to is one value', 200, '/leads/pipeline', lists, []],
    ['an interaction id that neither side sent is absent', 502, '/analysis/esg-grant', [], []],
    ['an id of the interaction that it repeats is there', 200, '/analysis/esg-grant', [], [interactionId, 'abcd']],
    ['an id of the interaction is compared', 502, '/analysis/esg-grant', [], [interactionId, 'abcde']],
    ['the request id is as the gateway writes it', 200, '/compliance/audit-trail', versioned, []],
    ['what the upstream leaves out is not there', 502, '/compliance/audit-trail', [], []],
  ])('%s: %i', async (_, status, target, ofUpstream, fields) => {
    shared.respondWith(respondJson('{}', { fields: ofUpstream }))
    const response = await call(shared.port, { target, fields })

    expect(response.status).toBe(status)
    if (target === '/market/insights')
      for (const name of Object.keys(ownFields)) expect(fieldValues(response.fields, name)).toHaveLength(1)
  })
})

const bootRequiring = async (names: object, settings: Settings, ofUpstream: readonly string[] = []) => {
  const upstream = (await httpUpstream(respondJson('{}', { fields: ofUpstream }))).url
  const contract = { file: requiring({ '/market/insights': names }), ...enforce }
  return (await bootGateway({ upstream, contract, ...settings })).port
}

test.each([['X-Correlation-Id'], ['none']])('the request id is in no other field than %s', async (header) => {
  expect((await call(await bootRequiring(hexId, { requestId: { header } }))).status).toBe(502)
})

test('the request id in x-fapi-interaction-id stands there once, also where the client has sent it', async () => {
  const requestId = { header: interactionId }
  const port = await bootRequiring(headers([interactionId]), { requestId }, [interactionId, 'of-the-upstream'])
  const own = await call(port)
  const kept = await call(port, { fields: [interactionId, 'of-the-client'] })

  expect(fieldValues(own.fields, interactionId)).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)])
  expect(fieldValues(kept.fields, interactionId)).toEqual(['of-the-client'])
})

test('the side that serves is there, and what an upstream says of it is not', async () => {
  const { url } = await httpUpstream(respondJson('{}', { fields: ['X-Side', 'forged'] }))
  const market = { endpoints: [url], candidate: { endpoints: [url], share: '50%', expose: 'X-Side' } }
  const port = await bootRequiring(headers(['X-Side'], { enum: ['primary', 'candidate'] }), { upstreams: { market } })

  expect((await call(port)).status).toBe(200)
})
