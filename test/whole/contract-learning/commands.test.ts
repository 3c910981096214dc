import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { contractFile } from '../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const learn = ({ admin }: LiveGateway, body: object) =>
  fetchAdmin(`${admin}/contract/learn`, 'POST', { body: JSON.stringify(body) })

const learning = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body.learning

const getDraft = ({ admin }: LiveGateway) => fetchAdmin(`${admin}/contract/draft`)

const send = async ({ url }: LiveGateway, path = '/market/insights?limit=1', init: RequestInit = {}) => {
  const response = await fetch(url + path, init)
  await response.arrayBuffer()
  return response.status
}

const score = (live: LiveGateway, body: unknown = { id: 'a', amount: 1 }) =>
  send(live, '/valuation/score', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

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

describe('the contract', () => {
  test('is learnt for a while, and the draft stays when that is over', async () => {
    const live = await bootLiveGateway()
    await send(live)

    const { status, body } = await learn(live, { for: '2s', enums: true })
    const during = await learning(live)
    await send(live)
    await untilSeen(live, 1)
    const ended = await live.line(({ msg }) => msg === 'contract learning ended')
    await send(live)

    expect([status, body]).toEqual([200, { learning: true, enums: true, until: expect.stringMatching(/Z$/) }])
    expect(during).toEqual({
      by: 'operator',
      enums: true,
      until: body.until,
      orderedBy: '127.0.0.1',
      orderedAt: expect.stringMatching(/Z$/),
      orderReason: null,
    })
    expect(ended).toBeDefined()
    expect(await learning(live)).toBe(null)
    expect(await seen(live)).toBe(1)
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'contract learning', ...body }))
  })

  test('is learnt from the beginning by another command', async () => {
    const live = await bootLiveGateway()
    await learn(live, {})
    await send(live)
    await untilSeen(live, 1)

    await learn(live, {})

    expect(await seen(live)).toBe(0)
    expect(await getDraft(live)).toMatchObject({ status: 409, body: { code: 'nothing-learnt' } })
  })

  test('goes on being learnt across a reload, and over a restart of nothing else', async () => {
    const live = await bootLiveGateway({ contract: { learn: true } })
    await send(live)
    await untilSeen(live, 1)

    live.edit({ contract: { learn: true, maxBody: '2MiB' } })
    const { status } = await fetchAdmin(`${live.admin}/reload`, 'POST')
    await send(live)

    expect(status).toBe(200)
    await untilSeen(live, 2)
    expect(await learning(live)).toEqual({
      by: 'file',
      enums: false,
      until: null,
      orderedBy: null,
      orderedAt: null,
      orderReason: null,
    })
  })

  test('is learnt by an operator across a reload of a file that says nothing of it', async () => {
    const live = await bootLiveGateway()
    await learn(live, { for: '1h' })
    await send(live)
    await untilSeen(live, 1)

    live.edit({ defaults: { deadline: '7s' } })
    await fetchAdmin(`${live.admin}/reload`, 'POST')
    await send(live)

    await untilSeen(live, 2)
  })

  test('begins anew when the file has enumerations learnt as well', async () => {
    const live = await bootLiveGateway({ contract: { learn: true } })
    await send(live)
    await untilSeen(live, 1)

    live.edit({ contract: { learn: true, enums: true } })
    await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect(await seen(live)).toBe(0)
  })

  test('is not learnt any more by a command, and what was learnt stays', async () => {
    const live = await bootLiveGateway()
    await learn(live, {})
    await send(live)
    await untilSeen(live, 1)

    const { status, body } = await learn(live, { stop: true })
    await send(live)

    expect([status, body]).toEqual([200, { learning: false, enums: false, until: null }])
    expect([await learning(live), await seen(live)]).toEqual([null, 1])
  })

  test('goes on being learnt as the file says when a command is stopped', async () => {
    const live = await bootLiveGateway({ contract: { learn: true } })
    await learn(live, {})

    const { body } = await learn(live, { stop: true })

    expect(body).toEqual({ learning: true, enums: false, until: null })
  })

  test.each([true, false])('goes on from what a stopped command has learnt, the file with enums: %s', async (enums) => {
    const live = await bootLiveGateway({ contract: { learn: true, enums } })
    await learn(live, enums ? {} : { enums: true })
    await send(live)
    await untilSeen(live, 1)

    await learn(live, { stop: true })
    const kept = await seen(live)
    await send(live)

    expect(kept).toBe(1)
    await untilSeen(live, 2)
    expect(await learning(live)).toMatchObject({ by: 'file', enums })
  })

  test.each([
    ['nothing is learnt', {}, /does not learn just now/],
    ['the file has it learnt', { contract: { learn: true } }, /the file has it learn/],
  ] as const)('cannot be stopped when %s', async (_, settings, detail) => {
    const live = await bootLiveGateway(settings)

    expect(await learn(live, { stop: true })).toMatchObject({
      status: 409,
      body: { code: 'not-learning', detail: expect.stringMatching(detail) },
    })
  })

  test('has no draft before anything was learnt, which says what to do', async () => {
    const live = await bootLiveGateway()
    const before = await getDraft(live)
    await learn(live, {})

    expect(before).toMatchObject({
      status: 409,
      body: { code: 'nothing-learnt', detail: expect.stringContaining('contract learn --for 1h') },
    })
    expect(await getDraft(live)).toMatchObject({ status: 409, body: { detail: expect.stringContaining('yet') } })
  })

  test.each([{ for: '25h' }, { for: '0s' }, { enums: 'yes' }, { whatever: 1 }])(
    'is not learnt for %j',
    async (body) => {
      const live = await bootLiveGateway()

      expect(await learn(live, body)).toMatchObject({ status: 400, body: { code: 'bad-request' } })
      expect(await learning(live)).toBe(null)
    },
  )
})

describe('learning beside', () => {
  test('a cache counts what comes from the upstream, not what is stored', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'max-age=60' }).end('{"a":1}')
    })
    const live = await bootLiveGateway({
      upstream: upstream.url,
      contract: { learn: true },
      operations: { 'market.insights': { cache: {} } },
    })

    for (let i = 0; i < 5; i++) expect(await send(live)).toBe(200)
    expect(await send(live, '/market/insights?limit=2')).toBe(200)

    await untilSeen(live, 2)
    expect(upstream.requests).toHaveLength(2)
  })

  test('digests of the audit log and report mode reads the same bytes', async () => {
    const upstream = await httpUpstream()
    const audit = { ...createAuditLog(onTestFinished).settings, digests: 'both' }
    const live = await bootLiveGateway({
      upstream: upstream.url,
      audit,
      contract: { file: contractFile(), learn: true, request: 'report', response: 'report' },
    })
    const bodies = ['{"id":"a"}', JSON.stringify({ id: 'x'.repeat(200_000) }), '{"amount":-1}']

    for (const body of bodies) expect(await score(live, body)).toBe(200)

    await untilSeen(live, 3, '/valuation/score')
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual(bodies)
    const { contract } = (await fetchAdmin(`${live.admin}/contract`)).body as unknown as {
      contract: { operations: Record<string, { request: object; response: object }> }
    }
    expect(contract.operations['valuation.score']).toMatchObject({
      request: { checked: 3, broken: 1 },
      response: { checked: 3, broken: 3 },
    })
  })

  test('enforce learns the requests that pass, and the responses that do not', async () => {
    const live = await bootLiveGateway({
      upstream: (await httpUpstream()).url,
      contract: { file: contractFile(), learn: true, request: 'enforce', response: 'enforce' },
    })

    expect(await score(live, { amount: 1 })).toBe(400)
    expect(await score(live, { id: 'a' })).toBe(502)

    await untilSeen(live, 1, '/valuation/score')
    const { paths } = (await getDraft(live)).body as unknown as Draft
    expect(paths['/valuation/score']?.post?.responses).toMatchObject({ 200: { 'x-seen': '1 of 1' } })
  })

  test('a compressed body leaves it as it is', async () => {
    const upstream = await httpUpstream()
    const live = await bootLiveGateway({ upstream: upstream.url, contract: { learn: true } })
    const body = gzipSync('{"id":"a"}')

    await send(live, '/valuation/score', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body,
    })

    await untilSeen(live, 1, '/valuation/score')
    expect(upstream.requests[0]?.body).toEqual(body)
  })
})
