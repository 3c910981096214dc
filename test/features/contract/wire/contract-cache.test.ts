/** The contract beside the cache: what is stored was checked, and is not checked again. */
import { afterAll, expect, test, vi } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { jsonOf } from '../compile/loading.ts'

const responses = { 200: { description: 'ok', ...jsonOf({ type: 'object', required: ['grade'] }) } }
const get = { get: { responses } }
const file = contractFile({ openapi: '3.1.0', paths: { '/market/insights': get, '/leads/pipeline': get } }, afterAll)

const [good, better, bad] = ['{"grade":"A"}', '{"grade":"B"}', '{"other":"A"}']
const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']
/** Fresh until a second ago. */
const stale = ['Cache-Control', 'max-age=60', 'Age', '61', 'ETag', '"a"']
const staleOr = (directive: string) => ['Cache-Control', `max-age=60, ${directive}=600`, 'Age', '61']

const settings = {
  contract: { file, response: 'enforce', maxBody: '1KiB' },
  operations: {
    'market.insights': { cache: { ttl: '60s' } },
    'leads.pipeline': { cache: { ttl: '60s' }, contract: { response: 'report' } },
  },
}
const shared = liveGatewayForAll(settings)

type Operation = keyof typeof settings.operations

type Scripted = readonly [fields: readonly string[], body: string, status?: number]

let nth = 0

/** Has the upstream send these responses one after the other, the last again and again, for a target of its own. */
const script = async (scripted: readonly Scripted[], operation: Operation = 'market.insights') => {
  let at = 0
  shared.respondWith((_, response) => {
    const [fields, body, status = 200] = scripted[Math.min(at++, scripted.length - 1)] ?? [[], '']
    response.writeHead(status, ['Content-Type', 'application/json', ...fields])
    response.end(body)
  })
  const counts = async (): Promise<readonly number[]> => {
    const { contract } = (await fetchAdmin(`${shared.live.admin}/contract`)).body as unknown as {
      contract: { operations: Record<string, { response: Record<string, number> }> }
    }
    return ['checked', 'broken', 'rejected'].map((name) => contract.operations[operation]?.response[name] ?? 0)
  }
  const before = await counts()
  const target = `/${operation.replace('.', '/')}?${nth++}`
  return {
    send: async () => {
      const { status, body, fields } = await call(shared.port, { target })
      const cacheStatus = fieldValues(fields, 'cache-status').join().split(';ttl')[0]
      return { status, body: body.toString(), cacheStatus }
    },
    /** Counts what was checked, broken and rejected since. */
    counted: async () => (await counts()).map((count, i) => count - (before[i] ?? 0)),
  }
}

const stored = 'lender-gateway;fwd=uri-miss;stored'
const hit = 'lender-gateway;hit'

test('reported: a response is checked when it is fetched, and not when it is a hit, though only ttl has it stored', async () => {
  const { send, counted } = await script([[[], bad]], 'leads.pipeline')
  const [first, again] = [await send(), await send()]

  expect([first.body, first.cacheStatus, again.body, again.cacheStatus]).toEqual([bad, stored, bad, hit])
  await vi.waitFor(async () => expect(await counted()).toEqual([1, 1, 0]), 30_000)
})

test('enforced: a response that breaks the contract is not stored, though ttl says so', async () => {
  const { send } = await script([bad, good].map((body) => [[], body]))
  const got = [await send(), await send(), await send()]

  expect(got).toMatchObject([{ status: 502 }, { status: 200 }, { status: 200, cacheStatus: hit }])
  expect(shared.received()).toHaveLength(2)
})

test.each<[string, Scripted, Scripted]>([
  ['where stale-if-error allows it, for one that breaks the contract', [staleOr('stale-if-error'), good], [fresh, bad]],
  ['that a 304 validates, which breaks no contract', [stale, good], [fresh, '', 304]],
])('enforced: the stored response stands in %s', async (_, ...scripted) => {
  const { send } = await script(scripted)

  expect([await send(), await send()]).toMatchObject([
    { status: 200, body: good },
    { status: 200, body: good, cacheStatus: expect.stringMatching(/fwd=stale|hit/) },
  ])
  expect(shared.received()).toHaveLength(2)
})

test('enforced: what a revalidation in the background brings is held to it before it is stored', async () => {
  const revalidating = staleOr('stale-while-revalidate')
  const { send } = await script([...[good, bad].map((body) => [revalidating, body] as const), [fresh, better]])
  const bodies = new Set<string>()

  await vi.waitFor(async () => {
    const { body } = await send()
    bodies.add(body)
    expect(body).toBe(better)
  }, 30_000)

  expect(bodies).toEqual(new Set([good, better]))
})

test('enforced: all who wait for one fetch get the 502, of one response', async () => {
  const { send, counted } = await script([[fresh, bad]])
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

test('enforced: what was stored unchecked is gone after an edit that rejects what cannot be checked', async () => {
  const { send } = await script([[fresh, good.padEnd(2048)]])
  expect([await send(), await send()]).toMatchObject([{ cacheStatus: stored }, { cacheStatus: hit }])
  shared.live.edit({ upstream: shared.upstream, ...settings, contract: { ...settings.contract, unchecked: 'reject' } })
  await shared.live.gateway.reload('request')

  expect((await send()).status).toBe(502)
})
