import { describe, expect, test } from 'vitest'
import { askAdmin, bootLive, type LiveGateway } from '../helpers/live-gateway.ts'

const order = ({ admin }: LiveGateway, body: unknown) =>
  askAdmin(`${admin}/log-level`, 'POST', { body: typeof body === 'string' ? body : JSON.stringify(body) })

const log = async ({ admin }: LiveGateway) => (await askAdmin(`${admin}/status`)).body.log

/** Tells whether a request leaves a line just now: whatever is written goes to the memory of the test before the answer comes. */
const leavesLine = async (live: LiveGateway): Promise<boolean> => {
  const before = live.lines.length
  await (await fetch(`${live.url}/market/insights`)).text()
  await fetch(`${live.admin}/live`) // the line is written when the body has ended, which the client may see first
  return live.lines.slice(before).some(({ msg }) => msg === 'exchange')
}

describe('the level of the log', () => {
  test('is what the file says, until an operator says otherwise', async () => {
    const live = await bootLive({ log: { level: 'warn' } })

    expect(await log(live)).toEqual({ level: 'warn', until: null, dropped: 0 })
    expect(await leavesLine(live)).toBe(false)
  })

  test('is another one for a while, and the log says so', async () => {
    const live = await bootLive({ log: { level: 'warn' } })

    const { status, body } = await order(live, { level: 'info', ttl: '10m' })

    expect(status).toBe(200)
    expect(body).toEqual({ level: 'info', until: expect.stringMatching(/Z$/) })
    expect(await log(live)).toEqual({ ...body, dropped: 0 })
    const { level: logLevel, until } = body
    expect(live.lines).toContainEqual(expect.objectContaining({ level: 30, logLevel, until, msg: 'log level order' }))
    expect(await leavesLine(live)).toBe(true)
  })

  test('goes back of itself when the time is over, and that is the last line of its level', async () => {
    const live = await bootLive({ log: { level: 'warn' } })

    await order(live, { level: 'debug', ttl: '1s' })

    expect(await live.line(({ msg }) => msg === 'log level order ended')).toBeDefined()
    expect(await log(live)).toEqual({ level: 'warn', until: null, dropped: 0 })
    expect(await leavesLine(live)).toBe(false)
  })

  test('goes back at once when told to', async () => {
    const live = await bootLive({ log: { level: 'warn' } })
    await order(live, { level: 'info' })

    const { body } = await order(live, { level: 'back' })

    expect(body).toEqual({ level: 'warn', until: null })
    expect(await leavesLine(live)).toBe(false)
  })

  test('can be a quieter one: the order is the last line, and its end one of the first', async () => {
    const live = await bootLive()

    await order(live, { level: 'silent', ttl: '1s' })
    const silent = await leavesLine(live)
    await live.line(({ msg }) => msg === 'log level order ended')

    expect([silent, await leavesLine(live)]).toEqual([false, true])
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'log level order', until: expect.any(String) }))
  })

  test('stays as it was ordered across a reload, and the file of the reload holds afterwards', async () => {
    const live = await bootLive({ log: { level: 'warn' } })
    await order(live, { level: 'debug' })

    live.edit({ log: { level: 'error' } })
    const { body } = await askAdmin(`${live.admin}/reload`, 'POST')
    const during = await log(live)
    await order(live, { level: 'back' })

    expect(body).toMatchObject({ result: 'applied' })
    expect(during).toMatchObject({ level: 'debug' })
    expect(await log(live)).toMatchObject({ level: 'error', until: null })
    expect(await leavesLine(live)).toBe(false)
  })
})

describe('an order that is not understood changes nothing and says what was expected', () => {
  test.each([
    ['nothing', '', 'such as {"level":"debug","ttl":"15m"}'],
    ['no level', {}, 'one of fatal, error, warn, info, debug, trace, silent, or back'],
    ['an unknown level', { level: 'verbose' }, 'one of fatal'],
    ['the name of something inherited', { level: 'constructor' }, 'one of fatal'],
    ['a number', { level: 20 }, 'one of fatal'],
    ['a time to live of 0', { level: 'debug', ttl: '0s' }, 'from 1s'],
    ['a time to live beyond a day', { level: 'debug', ttl: '25h' }, 'to 24h'],
    ['an unknown key', { level: 'debug', for: '15m' }, 'for'],
  ])('%s', async (_, body, expected) => {
    const live = await bootLive()

    const { status, body: problem } = await order(live, body)

    expect(status).toBe(400)
    expect(problem.detail).toContain(expected)
    expect(await log(live)).toMatchObject({ level: 'info', until: null })
  })
})
