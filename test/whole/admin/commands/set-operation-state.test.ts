import { describe, expect, test } from 'vitest'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const command = ({ admin }: LiveGateway, state: 'reject' | 'serve', body: unknown) =>
  fetchAdmin(`${admin}/operations/${state}`, 'POST', {
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const sendRequest = ({ url }: LiveGateway, path = '/market/insights') => fetch(url + path)

const idle = await shareLiveGateway()

const operations = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body.operations

const insights = { operation: 'market.insights' }
const serving = { state: 'serve', setBy: '127.0.0.1', setReason: null }
const at = expect.stringMatching(/Z$/)

describe('an operation', () => {
  test('is taken out of service for a while, the others are not, and the log says so', async () => {
    const live = await bootLiveGateway()

    const { status, body } = await command(live, 'reject', { ...insights, ttl: '10m' })
    const rejected = await sendRequest(live)
    const other = await sendRequest(live, '/leads/pipeline')

    expect([status, body]).toEqual([200, { ...insights, state: 'reject', reason: null, until: at }])
    expect([rejected.status, other.status]).toEqual([503, 200])
    expect(await rejected.json()).toMatchObject({ code: 'rejected-by-operator' })
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(590)
    expect(Number(rejected.headers.get('retry-after'))).toBeLessThanOrEqual(600)
    expect(await operations(live)).toEqual({
      'market.insights': { ...serving, state: 'reject', until: body.until, setAt: at },
    })
    const [logged] = live.lines.filter(({ msg }) => msg === 'admin request')
    expect(logged).toMatchObject({ method: 'POST', url: '/operations/reject', status: 200 })
    expect(logged).not.toHaveProperty('operator') // one without a name has the address
    const [order] = live.lines.filter(({ msg }) => msg === 'operation override')
    expect(order).toMatchObject({ ...body, by: '127.0.0.1' })
    const served = await command(live, 'serve', insights)
    expect(served.body).toEqual({ ...insights, state: 'serve', reason: null, until: null })
    expect((await sendRequest(live)).status).toBe(200)
  })

  test('says why, in the operator’s words, wherever it says that it is out of service', async () => {
    const live = await bootLiveGateway()
    const reason = 'CHG-4711: <b>score</b> is "wrong"'

    const { body } = await command(live, 'reject', { ...insights, reason: ` ${reason} ` })

    expect(body).toMatchObject({ reason })
    expect(await operations(live)).toMatchObject({ 'market.insights': { setReason: reason } })
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'operation override', reason }))
    const { body: overview } = await fetchAdmin(`${live.admin}/overview`)
    expect(JSON.stringify(overview.commands)).toContain('CHG-4711')
    const page = await (await fetch(live.admin, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('CHG-4711: &#60;b&#62;score&#60;/b&#62; is &#34;wrong&#34;')
    expect(page).not.toContain('<b>score')
    const { out } = await runCommand(['status', '--admin', live.admin])
    expect(out).toMatch(/^market\.insights +REJECTED by 127\.0\.0\.1 until .*: CHG-4711: <b>score<\/b> is "wrong"$/m)
    expect(out).toContain(`(${reason})`) // the finding
    const explained = await runCommand(['explain', 'GET', '/market/insights', '--live', '--admin', live.admin])
    expect(explained.out).toMatch(/rejects every request until .*CHG-4711/)
  })

  test('serves again when its time is over, without a request', async () => {
    const live = await bootLiveGateway()
    await command(live, 'reject', { ...insights, ttl: '1s' })
    const during = (await sendRequest(live)).status

    await expect.poll(async () => (await sendRequest(live)).status).toBe(200)

    expect(during).toBe(503)
    expect(await operations(live)).toEqual({})
    expect(await live.line(({ msg }) => msg === 'operation override ended')).toMatchObject(insights)
  })

  test('that the file rejects serves for a while, also across a reload', async () => {
    const upstream = await httpUpstream()
    const file = { operations: { 'market.insights': { state: 'reject' } } }
    const live = await bootLiveGateway(file)
    const before = (await sendRequest(live)).status

    const { body } = await command(live, 'serve', { ...insights, ttl: '1h' })
    const after = (await sendRequest(live)).status
    live.edit({ ...file, upstream: upstream.url })
    await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect([before, after, (await sendRequest(live)).status]).toEqual([503, 200, 200])
    expect(upstream.requests).toHaveLength(1)
    expect(await operations(live)).toEqual({ 'market.insights': { ...serving, until: body.until, setAt: at } })
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
    ['a bare number as time to live', { ...insights, ttl: 15 }, 'such as 15m'],
    ['a time to live of 0', { ...insights, ttl: '0s' }, 'from 1s'],
    ['a time to live beyond a day', { ...insights, ttl: '25h' }, 'to 24h'],
    ['an unknown key', { ...insights, for: '15m' }, 'for'],
    ['a reason too long', { ...insights, reason: 'x'.repeat(201) }, 'reason'],
    ['a reason in two lines', { ...insights, reason: 'a\nb' }, 'reason'],
    ['a reason with a control character', { ...insights, reason: 'a\u001b[2Jb' }, 'reason'],
    ['a reason that turns its direction', { ...insights, reason: 'a\u202eb' }, 'reason'],
    ['a reason that is no text', { ...insights, reason: 7 }, 'reason'],
  ])('%s', async (_, body, expected) => {
    const { status, body: problem } = await command(idle, 'reject', body)

    expect(status).toBe(400)
    expect(problem.detail).toContain(expected)
    expect(await operations(idle)).toEqual({})
  })
})
