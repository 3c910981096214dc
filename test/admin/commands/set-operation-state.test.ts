import { describe, expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const command = ({ admin }: LiveGateway, state: 'refuse' | 'serve', body: unknown) =>
  fetchAdmin(`${admin}/operations/${state}`, 'POST', {
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const sendRequest = ({ url }: LiveGateway, path = '/market/insights') => fetch(url + path)

const operations = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body.operations

describe('an operation', () => {
  test('is taken out of service for a while, the others are not, and the log says so', async () => {
    const live = await bootLiveGateway()

    const { status, body } = await command(live, 'refuse', { operation: 'market.insights', ttl: '10m' })
    const refused = await sendRequest(live)
    const other = await sendRequest(live, '/leads/pipeline')

    expect(status).toBe(200)
    expect(body).toEqual({ operation: 'market.insights', state: 'refuse', until: expect.stringMatching(/Z$/) })
    expect([refused.status, other.status]).toEqual([503, 200])
    expect(await refused.json()).toMatchObject({ code: 'refused-by-operator' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(590)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(600)
    expect(await operations(live)).toEqual({
      'market.insights': {
        state: 'refuse',
        until: body.until,
        orderedBy: '127.0.0.1',
        orderedAt: expect.stringMatching(/Z$/),
      },
    })
    expect(live.lines).toContainEqual(
      expect.objectContaining({ msg: 'admin request', method: 'POST', url: '/operations/refuse', status: 200 }),
    )
    expect(live.lines).toContainEqual(expect.objectContaining({ ...body, msg: 'operation override' }))
  })

  test('serves again when its time is over, without a request', async () => {
    const live = await bootLiveGateway()
    await command(live, 'refuse', { operation: 'market.insights', ttl: '2s' })
    const during = (await sendRequest(live)).status

    await expect.poll(async () => (await sendRequest(live)).status).toBe(200)

    expect(during).toBe(503)
    expect(await operations(live)).toEqual({})
    expect(await live.line(({ msg }) => msg === 'override ended')).toMatchObject({ operation: 'market.insights' })
  })

  test('serves again at once by a command', async () => {
    const live = await bootLiveGateway()
    await command(live, 'refuse', { operation: 'market.insights' })

    const { body } = await command(live, 'serve', { operation: 'market.insights' })

    expect(body).toEqual({ operation: 'market.insights', state: 'serve', until: null })
    expect((await sendRequest(live)).status).toBe(200)
  })

  test('that the file refuses serves for a while', async () => {
    const live = await bootLiveGateway({ operations: { 'market.insights': { state: 'refuse' } } })
    const before = (await sendRequest(live)).status

    const { body } = await command(live, 'serve', { operation: 'market.insights', ttl: '1h' })

    expect([before, (await sendRequest(live)).status]).toEqual([503, 200])
    expect(await operations(live)).toEqual({
      'market.insights': {
        state: 'serve',
        until: body.until,
        orderedBy: '127.0.0.1',
        orderedAt: expect.stringMatching(/Z$/),
      },
    })
  })

  test('stays out of service across a reload', async () => {
    const upstream = await httpUpstream()
    const live = await bootLiveGateway()
    await command(live, 'refuse', { operation: 'market.insights' })

    live.edit({ upstream: upstream.url })
    await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect((await sendRequest(live)).status).toBe(503)
    expect(upstream.requests).toEqual([])
  })
})

describe('a command that cannot be parsed changes nothing and says what was expected', () => {
  test.each([
    ['nothing', '', 'a JSON object'],
    ['no JSON', '{', 'a JSON object'],
    ['a list', [], 'a JSON object'],
    ['no operation', {}, 'market.insights'],
    ['an unknown operation', { operation: 'market.insight' }, 'market.insights'],
    ['the name of something inherited', { operation: 'constructor' }, 'market.insights'],
    ['a bare number as time to live', { operation: 'market.insights', ttl: 15 }, 'such as 15m'],
    ['a time to live of 0', { operation: 'market.insights', ttl: '0s' }, 'from 1s'],
    ['a time to live beyond a day', { operation: 'market.insights', ttl: '25h' }, 'to 24h'],
    ['an unknown key', { operation: 'market.insights', for: '15m' }, 'for'],
  ])('%s', async (_, body, expected) => {
    const live = await bootLiveGateway()

    const { status, body: problem } = await command(live, 'refuse', body)

    expect(status).toBe(400)
    expect(problem.detail).toContain(expected)
    expect(await operations(live)).toEqual({})
  })
})
