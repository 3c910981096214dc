/** The contract beside the cache: what is stored was checked, and is not checked again. */
import { expect, test, vi } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

const contract = {
  openapi: '3.1.0',
  info: { title: 'Insights', version: '1.0.0' },
  paths: {
    '/market/insights': {
      get: {
        responses: {
          200: {
            description: 'insights',
            content: { 'application/json': { schema: { type: 'object', required: ['grade'] } } },
          },
        },
      },
    },
  },
}

const good = '{"grade":"A"}'
const bad = '{"other":"A"}'
const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']
/** Fresh until a second ago. */
const stale = ['Cache-Control', 'max-age=60', 'Age', '61', 'ETag', '"a"']

interface Counts {
  readonly checked: number
  readonly broken: number
  readonly rejected: number
}

interface ContractAnswer {
  readonly contract: { readonly operations: { readonly 'market.insights': { readonly response: Counts } } }
}

/** Boots a gateway whose upstream sends these responses one after the other, and the last again and again. */
const boot = async (
  mode: 'report' | 'enforce',
  responses: readonly { readonly status?: number; readonly fields: readonly string[]; readonly body: string }[],
) => {
  let at = 0
  const upstream = await httpUpstream((_, response) => {
    const { status = 200, fields, body } = responses[Math.min(at++, responses.length - 1)] ?? { fields: [], body: '' }
    response.writeHead(status, ['Content-Type', 'application/json', ...fields])
    response.end(body)
  })
  const rules = { file: contractFile(contract), response: mode, maxBody: '1KiB' }
  const settings = { upstream: upstream.url, operations: { 'market.insights': { cache: true } } }
  const live = await bootLiveGateway({ ...settings, contract: rules })
  const reload = (edited: object) => {
    live.edit({ ...settings, contract: { ...rules, ...edited } })
    return live.gateway.reload('request')
  }
  const { port } = live.gateway.address
  const counts = async (): Promise<Counts> => {
    const report = (await fetch(`${live.admin}/contract`).then((response) => response.json())) as ContractAnswer
    const { checked, broken, rejected } = report.contract.operations['market.insights'].response
    return { checked, broken, rejected }
  }
  return { upstream, port, counts, reload }
}

const statusOf = ({ fields }: WireResponse): string => fieldValues(fields, 'cache-status').join().split(';ttl')[0] ?? ''

test('reported: a response is checked when it is fetched, and not when it is a hit', async () => {
  const { port, counts } = await boot('report', [{ fields: fresh, body: bad }])

  const got = [await call(port), await call(port), await call(port)]

  expect(got.map(({ body }) => body.toString())).toEqual([bad, bad, bad])
  expect(got.map(statusOf)).toEqual(['lender-gateway;fwd=uri-miss;stored', 'lender-gateway;hit', 'lender-gateway;hit'])
  await vi.waitFor(async () => expect(await counts()).toEqual({ checked: 1, broken: 1, rejected: 0 }), 30_000)
})

test('enforced: a response that breaks the contract is not stored', async () => {
  const { port, upstream } = await boot('enforce', [
    { fields: fresh, body: bad },
    { fields: fresh, body: good },
  ])

  const got = [await call(port), await call(port), await call(port)]

  expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
  expect(got[2] && statusOf(got[2])).toBe('lender-gateway;hit')
  expect(upstream.requests).toHaveLength(2)
})

test('enforced: what was stored unchecked is gone after an edit that refuses what cannot be checked', async () => {
  const { port, reload } = await boot('enforce', [{ fields: fresh, body: good.padEnd(2048) }])

  const before = [await call(port), await call(port)]
  await reload({ unchecked: 'refuse' })
  const after = await call(port)

  expect(before.map(statusOf)).toEqual(['lender-gateway;fwd=uri-miss;stored', 'lender-gateway;hit'])
  expect(after.status).toBe(502)
})

test('enforced: where stale-if-error allows it, the stored response stands in for one that breaks the contract', async () => {
  const { port } = await boot('enforce', [
    { fields: ['Cache-Control', 'max-age=60, stale-if-error=600', 'Age', '61'], body: good },
    { fields: fresh, body: bad },
  ])

  const got = [await call(port), await call(port)]

  expect(got.map(({ status, body }) => [status, body.toString()])).toEqual([
    [200, good],
    [200, good],
  ])
})

test('enforced: a 304 validates what was stored, and breaks no contract', async () => {
  const { port } = await boot('enforce', [
    { fields: stale, body: good },
    { status: 304, fields: fresh, body: '' },
  ])

  const got = [await call(port), await call(port)]

  expect(got.map(({ status, body }) => [status, body.toString()])).toEqual([
    [200, good],
    [200, good],
  ])
  expect(got[1] && statusOf(got[1])).toContain('fwd=stale')
})

test('enforced: all who wait for one fetch get the 502, of one response', async () => {
  const { port, upstream, counts } = await boot('enforce', [{ fields: fresh, body: bad }])

  const got = await Promise.all(Array.from({ length: 5 }, () => call(port)))

  expect(new Set(got.map(({ status }) => status))).toEqual(new Set([502]))
  const asked = upstream.requests.length
  expect(await counts()).toEqual({ checked: asked, broken: asked, rejected: asked })
})

test('enforced: an error of the gateway itself is no response to check', async () => {
  const { port, upstream, counts } = await boot('enforce', [{ fields: fresh, body: good }])
  await upstream.close()

  const { status } = await call(port)

  expect(status).toBe(502)
  expect(await counts()).toEqual({ checked: 0, broken: 0, rejected: 0 })
})

test('enforced: an error of the upstream that the contract does not have becomes 502', async () => {
  const { port } = await boot('enforce', [{ status: 404, fields: [], body: '{}' }])

  expect((await call(port)).status).toBe(502)
})

test('enforced: a POST whose response breaks the contract removes what it names all the same', async () => {
  const upstream = await httpUpstream(({ method }, response) => {
    const fields = method === 'GET' ? fresh : ['Location', '/market/insights']
    response.writeHead(200, ['Content-Type', 'application/json', ...fields])
    response.end(method === 'GET' ? `{"grade":"${upstream.requests.length}"}` : bad)
  })
  const scored = { post: contract.paths['/market/insights'].get }
  const { port } = await bootGateway({
    upstream: upstream.url,
    contract: {
      file: contractFile({ ...contract, paths: { ...contract.paths, '/valuation/score': scored } }),
      response: 'enforce',
    },
    operations: { 'market.insights': { cache: true } },
  })
  const read = async () => (await call(port)).body.toString()

  const before = [await read(), await read()]
  const posted = await call(port, { method: 'POST', target: '/valuation/score', body: Buffer.from('{}') })
  const after = await read()

  expect(before).toEqual(['{"grade":"1"}', '{"grade":"1"}'])
  expect([posted.status, after]).toEqual([502, '{"grade":"3"}'])
})
