/** The contract beside the cache: what is stored was checked, and is not checked again. */
import { afterAll, expect, test, vi } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

const content = { 'application/json': { schema: { type: 'object', required: ['grade'] } } }
const get = { get: { responses: { 200: { description: 'insights', content } } } }
const file = contractFile({ openapi: '3.1.0', paths: { '/market/insights': get, '/leads/pipeline': get } }, afterAll)

const good = '{"grade":"A"}'
const bad = '{"other":"A"}'
const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']
/** Fresh until a second ago. */
const stale = ['Cache-Control', 'max-age=60', 'Age', '61', 'ETag', '"a"']

const settings = {
  contract: { file, response: 'enforce', maxBody: '1KiB' },
  operations: {
    'market.insights': { cache: true },
    'leads.pipeline': { cache: true, contract: { response: 'report' } },
  },
}
const shared = liveGatewayForAll(settings)

interface Scripted {
  readonly status?: number
  readonly fields: readonly string[]
  readonly body: string
}

let nth = 0

/** Has the upstream send these responses one after the other, the last again and again, for a target of its own. */
const script = async (responses: readonly Scripted[], path = '/market/insights') => {
  let at = 0
  shared.answerWith((_, response) => {
    const { status = 200, fields, body } = responses[Math.min(at++, responses.length - 1)] ?? { fields: [], body: '' }
    response.writeHead(status, ['Content-Type', 'application/json', ...fields])
    response.end(body)
  })
  const operation = path === '/market/insights' ? 'market.insights' : 'leads.pipeline'
  const counts = async (): Promise<readonly number[]> => {
    const { body } = await fetchAdmin(`${shared.live.admin}/contract`)
    const { contract } = body as unknown as {
      contract: { operations: Record<string, { response: Record<'checked' | 'broken' | 'rejected', number> }> }
    }
    const { checked = 0, broken = 0, rejected = 0 } = contract.operations[operation]?.response ?? {}
    return [checked, broken, rejected]
  }
  const before = await counts()
  const target = `${path}?${nth++}`
  return {
    send: () => call(shared.port, { target }),
    /** Counts what was checked, broken and rejected since. */
    counted: async () => (await counts()).map((count, i) => count - (before[i] ?? 0)),
  }
}

const statusOf = ({ fields }: WireResponse): string => fieldValues(fields, 'cache-status').join().split(';ttl')[0] ?? ''

test('reported: a response is checked when it is fetched, and not when it is a hit', async () => {
  const { send, counted } = await script([{ fields: fresh, body: bad }], '/leads/pipeline')

  const got = [await send(), await send()]

  expect(got.map(({ body }) => body.toString())).toEqual([bad, bad])
  expect(got.map(statusOf)).toEqual(['lender-gateway;fwd=uri-miss;stored', 'lender-gateway;hit'])
  await vi.waitFor(async () => expect(await counted()).toEqual([1, 1, 0]), 30_000)
})

test('enforced: a response that breaks the contract is not stored', async () => {
  const { send } = await script([
    { fields: fresh, body: bad },
    { fields: fresh, body: good },
  ])

  const got = [await send(), await send(), await send()]

  expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
  expect(got[2] && statusOf(got[2])).toBe('lender-gateway;hit')
  expect(shared.received()).toHaveLength(2)
})

test('enforced: where stale-if-error allows it, the stored response stands in for one that breaks the contract', async () => {
  const { send } = await script([
    { fields: ['Cache-Control', 'max-age=60, stale-if-error=600', 'Age', '61'], body: good },
    { fields: fresh, body: bad },
  ])

  const got = [await send(), await send()]

  expect(got.map(({ status, body }) => [status, body.toString()])).toEqual([
    [200, good],
    [200, good],
  ])
})

test('enforced: a 304 validates what was stored, and breaks no contract', async () => {
  const { send } = await script([
    { fields: stale, body: good },
    { status: 304, fields: fresh, body: '' },
  ])

  const got = [await send(), await send()]

  expect(got.map(({ status, body }) => [status, body.toString()])).toEqual([
    [200, good],
    [200, good],
  ])
  expect(got[1] && statusOf(got[1])).toContain('fwd=stale')
})

test('enforced: all who wait for one fetch get the 502, of one response', async () => {
  const { send, counted } = await script([{ fields: fresh, body: bad }])

  const got = await Promise.all(Array.from({ length: 5 }, send))

  expect(new Set(got.map(({ status }) => status))).toEqual(new Set([502]))
  const asked = shared.received().length
  expect(await counted()).toEqual([asked, asked, asked])
})

test('enforced: an error of the gateway itself is no response to check', async () => {
  const upstream = await httpUpstream()
  const { port, line } = await bootGateway({ ...settings, upstream: upstream.url })
  await upstream.close()

  expect((await call(port)).status).toBe(502)
  expect((await line(({ status }) => status === 502)).failure).toBe('connect-failed')
})

test('enforced: what was stored unchecked is gone after an edit that refuses what cannot be checked', async () => {
  const { send } = await script([{ fields: fresh, body: good.padEnd(2048) }])

  const before = [await send(), await send()]
  shared.live.edit({ upstream: shared.upstream, ...settings, contract: { ...settings.contract, unchecked: 'refuse' } })
  await shared.live.gateway.reload('request')

  expect(before.map(statusOf)).toEqual(['lender-gateway;fwd=uri-miss;stored', 'lender-gateway;hit'])
  expect((await send()).status).toBe(502)
})
