import { afterAll, describe, expect, test, vi } from 'vitest'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { contractFile, sampleContract } from '../../helpers/contract.ts'
import { respondJson } from '../../helpers/json-responder.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, liveGatewayForAll } from '../../helpers/live-gateway.ts'

const learn = ({ admin }: LiveGateway, body: object) =>
  fetchAdmin(`${admin}/contract/learn`, 'POST', { body: JSON.stringify(body) })

const learning = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body.learning

const getDraft = ({ admin }: LiveGateway) => fetchAdmin(`${admin}/contract/draft`)

const send = async ({ url }: LiveGateway, path = '/market/insights?limit=1', init: RequestInit = {}) => {
  const response = await fetch(url + path, init)
  await response.arrayBuffer()
  return response.status
}

const postJson = (
  live: LiveGateway,
  path: string,
  body: string | Buffer,
  fields: Readonly<Record<string, string>> = {},
) => send(live, path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...fields }, body })

interface Draft {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>
}

/** Gets how many requests for a path the draft knows; 0: none, or there is no draft. */
const seen = async (live: LiveGateway, path = '/market/insights'): Promise<number> => {
  const { paths = {} } = (await getDraft(live)).body as unknown as Partial<Draft>
  return Number(String(Object.values(paths[path] ?? {})[0]?.['x-seen'] ?? '0').split(' ')[0])
}

const untilSeen = (live: LiveGateway, count: number, path?: string) =>
  vi.waitFor(async () => expect(await seen(live, path)).toBe(count), { timeout: 30_000 })

const reload = async (live: LiveGateway, settings: object): Promise<number> => {
  live.edit(settings)
  return (await fetchAdmin(`${live.admin}/reload`, 'POST')).status
}

const rejection = (code: string, told: string) =>
  ({ status: 409, body: { code, detail: expect.stringContaining(told) } }) as const

describe('the contract', () => {
  test('is learned for a while, and the draft stays when that is over', async () => {
    const live = await bootLiveGateway()
    await send(live)

    const { status, body } = await learn(live, { for: '1s', enums: true })
    const during = await learning(live)
    await send(live)
    await untilSeen(live, 1)
    const ended = await live.line(({ msg }) => msg === 'contract learning ended')
    await send(live)

    expect([status, body]).toEqual([200, { learning: true, enums: true, until: expect.stringMatching(/Z$/) }])
    const ordered = { setBy: '127.0.0.1', setAt: expect.stringMatching(/Z$/), setReason: null }
    expect(during).toEqual({ by: 'operator', enums: true, until: body.until, ...ordered })
    expect(ended).toBeDefined()
    expect([await learning(live), await seen(live)]).toEqual([null, 1])
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'contract learning', ...body }))
  })

  test('a learning command survives a reload, is restarted by another command, and leaves its draft when stopped', async () => {
    const live = await bootLiveGateway()
    await learn(live, { for: '1h' })
    await send(live)
    await untilSeen(live, 1)

    await reload(live, { defaults: { deadline: '7s' } })
    await send(live)
    await untilSeen(live, 2)
    await learn(live, {})
    const again = await getDraft(live)
    await send(live)
    await untilSeen(live, 1)
    const { status, body } = await learn(live, { stop: true })
    await send(live)

    expect(again).toMatchObject({ status: 409, body: { code: 'nothing-learned' } })
    expect([status, body]).toEqual([200, { learning: false, enums: false, until: null }])
    expect([await learning(live), await seen(live)]).toEqual([null, 1])
  })

  test('learning by the file survives a reload and a command, and restarts with enums', async () => {
    const live = await bootLiveGateway({ contract: { learn: true } })
    await send(live)
    await untilSeen(live, 1)

    const status = await reload(live, { contract: { learn: true, maxBody: '2MiB' } })
    await send(live)
    await untilSeen(live, 2)
    const rejected = await learn(live, { stop: true })
    await learn(live, {})
    await send(live)
    await untilSeen(live, 1)
    const stopped = await learn(live, { stop: true })
    await send(live)
    await untilSeen(live, 2)
    const byFile = await learning(live)
    await reload(live, { contract: { learn: true, enums: true } })

    expect(status).toBe(200)
    expect(rejected).toMatchObject(rejection('not-learning', 'contract.learn is true in the file'))
    expect(stopped.body).toEqual({ learning: true, enums: false, until: null })
    const notOverridden = { setBy: null, setAt: null, setReason: null }
    expect(byFile).toEqual({ by: 'file', enums: false, until: null, ...notOverridden })
    expect(await seen(live)).toBe(0)
  })

  test('without learning there is no draft and nothing to stop, and an invalid command is rejected', async () => {
    const live = await bootLiveGateway()

    expect(await getDraft(live)).toMatchObject(rejection('nothing-learned', 'contract learn --for 1h'))
    expect(await learn(live, { stop: true })).toMatchObject(rejection('not-learning', 'no contract is learned now'))
    for (const body of [{ for: '25h' }, { for: '0s' }, { enums: 'yes' }, { whatever: 1 }])
      expect(await learn(live, body)).toMatchObject({ status: 400, body: { code: 'bad-request' } })
    expect(await learning(live)).toBe(null)
    await learn(live, {})
    expect(await getDraft(live)).toMatchObject(rejection('nothing-learned', 'yet'))
  })
})

describe('learning beside', () => {
  const score = sampleContract.paths['/valuation/score']
  const paths = { '/valuation/score': score, '/valuation/forecast': score }
  const shared = liveGatewayForAll({
    audit: { ...createAuditLog(afterAll).settings, digests: 'both' },
    contract: { file: contractFile({ ...sampleContract, paths }, afterAll), learn: true },
    operations: {
      'market.insights': { cache: {} },
      'valuation.forecast': { contract: { request: 'enforce', response: 'enforce' } },
    },
  })
  const json = (...fields: readonly string[]) => shared.respondWith(respondJson('{"a":1}', { fields }))

  test('a cache counts what comes from the upstream, not what is stored', async () => {
    json('Cache-Control', 'max-age=60')
    for (let i = 0; i < 3; i++) expect(await send(shared.live)).toBe(200)
    expect(await send(shared.live, '/market/insights?limit=2')).toBe(200)

    await untilSeen(shared.live, 2)
    expect(shared.received()).toHaveLength(2)
  })

  test('digests of the audit log and report mode reads the same bytes', async () => {
    json()
    const bodies = ['{"id":"a"}', JSON.stringify({ id: 'x'.repeat(200_000) }), '{"amount":-1}']

    for (const body of bodies) expect(await postJson(shared.live, '/valuation/score', body)).toBe(200)

    await untilSeen(shared.live, 3, '/valuation/score')
    expect(shared.received().map(({ body }) => body.toString())).toEqual(bodies)
    await vi.waitFor(async () => {
      const { contract } = (await fetchAdmin(`${shared.live.admin}/contract`)).body as unknown as {
        contract: { operations: Record<string, { request: object; response: object }> }
      }
      expect(contract.operations['valuation.score']).toMatchObject({
        request: { checked: 3, broken: 1 },
        response: { checked: 3, broken: 3 },
      })
    }, 30_000)
  })

  test('enforce learns the requests that pass, and the responses that do not', async () => {
    json()
    expect(await postJson(shared.live, '/valuation/forecast', '{"amount":1}')).toBe(400)
    expect(await postJson(shared.live, '/valuation/forecast', '{"id":"a"}')).toBe(502)

    await untilSeen(shared.live, 1, '/valuation/forecast')
    const { paths } = (await getDraft(shared.live)).body as unknown as Draft
    expect(paths['/valuation/forecast']?.post?.responses).toMatchObject({ 200: { 'x-seen': '1 of 1' } })
  })
})
