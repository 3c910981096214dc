/** Responses are held to the contract as the client gets them: with the fields that the gateway adds. */
import { expect, test, vi } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { documentOf } from '../../openapi/document.ts'

const enforce = { request: 'enforce', response: 'enforce' }
const headers = (names: readonly string[], schema: object = { type: 'string' }) =>
  Object.fromEntries(names.map((name) => [name, { required: true, schema }]))
/** A contract whose responses of GET /market/insights have these fields. */
const requiring = (fields: object) =>
  contractFile({
    openapi: '3.1.1',
    info: { title: 't', version: '1' },
    paths: { '/market/insights': { get: { responses: { 200: { description: 'ok', headers: fields } } } } },
  })
const upstreamWith = async (fields: readonly string[] = []) =>
  (
    await httpUpstream((_, response) => {
      response.writeHead(200, ['Content-Type', 'application/json', ...fields])
      response.end('{}')
    })
  ).url
const get = (port: number, fields: readonly string[] = []) => call(port, { fields })

/** What makes the gateway add every field that it can add. */
const everyField: Settings = {
  tracing: { serverTiming: true },
  limits: { address: { rate: '1000/s' } },
  operations: { 'market.insights': { cache: true } },
}

test.each<[string, Settings]>([
  ['the defaults', {}],
  ['every field of its own', everyField],
  ['the request id in another field', { requestId: { header: 'x-fapi-interaction-id' } }],
  ['no request id', { requestId: { header: 'none' } }],
])('the document of the gateway itself, enforced, lets all nine through with %s', async (_, settings) => {
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

test.each([
  [200, ['Content-Type', 'text/html'], '<p>'],
  [200, [], ''],
  [204, [], ''],
  [400, ['Content-Type', 'application/json'], '{"error":1}'],
  [404, ['Content-Type', 'application/problem+json'], '{}'],
  [500, ['Content-Type', 'application/json; charset=utf-8'], '{"error":2}'],
  [503, ['Content-Type', 'text/plain', 'Via', '1.1 varnish'], 'busy'],
])("its document has the upstream's own %d of %j", async (status, fields, body) => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(status, fields)
    response.end(body)
  })
  const { port } = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(documentOf()), ...enforce },
  })

  const response = await get(port)

  expect([response.status, response.body.toString()]).toEqual([status, body])
})

// Each of them is added behind the layers, or by one outside the contract's.
test('a field that the gateway adds is there for the contract', async () => {
  const fields = headers(['X-Request-Id', 'Via', 'Date', 'Server-Timing', 'RateLimit', 'Cache-Status'])
  const { port } = await bootGateway({
    ...everyField,
    upstream: await upstreamWith(),
    contract: { file: requiring(fields), ...enforce },
  })

  const response = await get(port)

  expect(response.status).toBe(200)
  for (const name of Object.keys(fields)) expect(fieldValues(response.fields, name)).toHaveLength(1)
})

test.each<[string, Settings, readonly string[], number]>([
  ['as the gateway writes it', {}, ['X-Request-Id', 'not-hex'], 200],
  ['and not in another field', { requestId: { header: 'X-Correlation-Id' } }, [], 502],
  ['and not where ids are off', { requestId: { header: 'none' } }, [], 502],
])('the request id is compared %s', async (_, settings, fields, status) => {
  const { port } = await bootGateway({
    ...settings,
    upstream: await upstreamWith(fields),
    contract: { file: requiring(headers(['X-Request-Id'], { type: 'string', pattern: '^[0-9a-f]{32}$' })), ...enforce },
  })

  expect((await get(port)).status).toBe(status)
})

test('an id of the interaction that the gateway repeats is there, and compared', async () => {
  const { port } = await bootGateway({
    upstream: await upstreamWith(),
    contract: { file: requiring(headers(['x-fapi-interaction-id'], { type: 'string', maxLength: 4 })), ...enforce },
  })

  const statuses = []
  for (const id of [[], ['x-fapi-interaction-id', 'abcd'], ['x-fapi-interaction-id', 'abcde']])
    statuses.push((await get(port, id)).status)

  expect(statuses).toEqual([502, 200, 502])
})

test('the request id in x-fapi-interaction-id stands there once, also where the client has sent it', async () => {
  const { port } = await bootGateway({
    requestId: { header: 'x-fapi-interaction-id' },
    upstream: await upstreamWith(['x-fapi-interaction-id', 'of-the-upstream']),
    contract: { file: requiring(headers(['x-fapi-interaction-id'])), ...enforce },
  })

  const [own, kept] = [await get(port), await get(port, ['x-fapi-interaction-id', 'of-the-client'])]

  expect(fieldValues(own.fields, 'x-fapi-interaction-id')).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)])
  expect(fieldValues(kept.fields, 'x-fapi-interaction-id')).toEqual(['of-the-client'])
})

test('the side that serves is there, and what an upstream says of it is not', async () => {
  const upstream = await upstreamWith(['X-Side', 'forged'])
  const { port } = await bootGateway({
    upstream,
    upstreams: {
      market: { endpoints: [upstream], candidate: { endpoints: [upstream], share: '50%', expose: 'X-Side' } },
    },
    contract: { file: requiring(headers(['X-Side'], { enum: ['primary', 'candidate'] })), ...enforce },
  })

  expect((await get(port)).status).toBe(200)
})

// RFC 9110 §5.3: Via and RateLimit are lists. The gateway adds a line of its own.
test('a list that several add to is one value', async () => {
  const fields = headers(['Via', 'Server-Timing'])
  const { port } = await bootGateway({
    ...everyField,
    upstream: await upstreamWith(['Via', '1.1 one', 'Via', '1.1 two', 'Server-Timing', 'db;dur=1']),
    contract: { file: requiring(fields), ...enforce },
  })

  expect((await get(port)).status).toBe(200)
})

test('what the upstream leaves out and the gateway does not add is counted as broken', async () => {
  const upstream = await upstreamWith()
  const live = await bootLiveGateway({
    ...everyField,
    upstream,
    contract: { file: requiring(headers(['X-Request-Id', 'RateLimit', 'X-Version'])) },
  })

  await get(live.gateway.address.port)

  await vi.waitFor(async () => {
    const { body } = await fetchAdmin(`${live.admin}/contract`)
    expect(body.rows).toMatchObject([{ in: 'header', pointer: '/x-version', rule: 'required', count: 1 }])
  })
})
