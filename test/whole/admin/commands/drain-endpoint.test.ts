/** Commands for endpoints: an operator drains one for a while, or makes it ready again. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { AdminContext } from '../../../../src/core/admin/admin-context.ts'
import { Overrides } from '../../../../src/core/runtime/overrides.ts'
import { WorkersNotAnsweringError } from '../../../../src/core/runtime/proxy-server.ts'
import { endpointCommands } from '../../../../src/features/overrides/endpoint-commands.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const command = ({ admin }: LiveGateway, state: 'drain' | 'ready', body: unknown) =>
  fetchAdmin(`${admin}/endpoints/${state}`, 'POST', { body: typeof body === 'string' ? body : JSON.stringify(body) })

interface EndpointMembers {
  readonly url: string
  readonly state: string
  readonly since: string | null
  readonly drainUntil: string | null
  readonly readyUntil: string | null
}

const endpoints = async ({ admin }: LiveGateway): Promise<readonly EndpointMembers[]> => {
  const { upstreams } = (await fetchAdmin(`${admin}/status`)).body as unknown as {
    upstreams: { market: { endpoints: readonly EndpointMembers[] } }
  }
  return upstreams.market.endpoints
}

const states = async (live: LiveGateway) => (await endpoints(live)).map(({ state }) => state)

const shared = await shareLiveGateway()
let nth = 0

/** Has the shared gateway run these settings. The orders of other tests are for other endpoints. */
const run = async (settings: object): Promise<LiveGateway> => {
  shared.edit(settings)
  expect((await shared.gateway.reload('request')).result).toBe('applied')
  return shared
}

/** Returns an endpoint that nothing listens at, and that no other test has. */
const nowhere = (): string => `http://127.0.0.1:1/${++nth}`

/** Runs two endpoints for market, without an upstream; `drain` is what the file says of the second. */
const runTwo = async (drain = false) => {
  const [one, two] = [{ url: nowhere() }, { url: nowhere() }]
  const settings = { upstreams: { market: { endpoints: [one.url, { url: two.url, drain }] } } }
  return { live: await run(settings), one, two, settings }
}

/** The same with upstreams that answer. */
const runTwoServers = async (more: object = {}, drain = false) => {
  let status = 200
  const one = await httpUpstream((_, response) => void response.writeHead(status).end())
  const two = await httpUpstream()
  const settings = { upstreams: { market: { endpoints: [one.url, { url: two.url, drain }], ...more } } }
  const live = await run(settings)
  const sendRequests = async (times: number) => {
    for (let i = 0; i < times; i++) await (await fetch(`${live.url}/market/insights`)).text()
    return [one.requests.length, two.requests.length]
  }
  const fail = () => {
    status = 500
  }
  return { live, one, two, sendRequests, fail, settings }
}

describe('an endpoint that stands there twice', () => {
  test('is the last one all the same, whichever of its entries takes work', async () => {
    const url = nowhere()
    const live = await run({ upstreams: { market: { endpoints: [{ url, weight: 0 }, url] } } })

    const { status } = await command(live, 'drain', { group: 'market', url })

    expect(status).toBe(409)
    expect(await states(live)).toEqual(['draining', 'up'])
  })

  test('is made ready in both entries, whichever of them the file drains', async () => {
    const url = nowhere()
    const live = await run({ upstreams: { market: { endpoints: [url, { url, drain: true }] } } })

    await command(live, 'ready', { group: 'market', url })

    expect(await states(live)).toEqual(['up', 'up'])
  })
})

describe('an endpoint of weight 0', () => {
  test('is not made ready by a command, and no hint says so', async () => {
    const [one, two] = [{ url: nowhere() }, { url: nowhere() }]
    const live = await run({ upstreams: { market: { endpoints: [one.url, { url: two.url, weight: 0 }] } } })

    const last = await command(live, 'drain', { group: 'market', url: one.url })
    const ready = await command(live, 'ready', { group: 'market', url: two.url })

    expect(last).toMatchObject({ status: 409, body: { code: 'last-endpoint' } })
    expect(last.body.detail).toContain(
      `no other endpoint of market takes work (${two.url} has weight 0): make another one ready first, add one`,
    )
    expect(ready).toMatchObject({ status: 409, body: { code: 'no-weight' } })
    expect(await states(live)).toEqual(['up', 'draining'])
  })

  test('is made ready where a command drains it: that ends the order', async () => {
    const [one, two] = [{ url: nowhere() }, { url: nowhere() }]
    const live = await run({ upstreams: { market: { endpoints: [one.url, { url: two.url, weight: 0 }] } } })
    await command(live, 'drain', { group: 'market', url: two.url })

    const { status, body } = await command(live, 'ready', { group: 'market', url: two.url })

    expect([status, body.until]).toEqual([200, null])
    expect(await endpoints(live)).toMatchObject([{ state: 'up' }, { state: 'draining', drainUntil: null }])
  })
})

describe('an endpoint', () => {
  test('that the file drains says since when, and a reload of something else keeps that', async () => {
    const { live, settings } = await runTwo(true)
    const since = async () => (await endpoints(live)).map((each) => each.since)
    const before = await since()

    live.edit({ ...settings, operations: { 'leads.pipeline': { state: 'refuse' } } })
    const { result } = await live.gateway.reload('request')

    expect(before).toEqual([null, expect.stringMatching(/Z$/)])
    expect([result, await since()]).toEqual(['applied', before])
  })

  test('is what the file says again when the time of an override is over, and the log says so', async () => {
    const { live, one } = await runTwo()
    await command(live, 'drain', { group: 'market', url: one.url, ttl: '1s' })
    const before = await states(live)

    const ended = await live.line(({ msg, endpoint }) => msg === 'endpoint order ended' && endpoint === one.url)

    expect(before).toEqual(['draining', 'up'])
    expect(ended).toMatchObject({ level: 30, group: 'market', endpoint: one.url })
    expect(await states(live)).toEqual(['up', 'up'])
  })

  test('takes no new work for a while, the other takes it all, and the log says so', async () => {
    const { live, one, sendRequests } = await runTwoServers()

    const { status, body } = await command(live, 'drain', { group: 'market', url: one.url, ttl: '10m' })

    expect(status).toBe(200)
    expect(body).toEqual({
      group: 'market',
      url: one.url,
      state: 'drain',
      reason: null,
      until: expect.stringMatching(/Z$/),
    })
    expect(await sendRequests(20)).toEqual([0, 20])
    expect(await endpoints(live)).toMatchObject([
      { state: 'draining', drainUntil: body.until, readyUntil: null },
      { state: 'up', drainUntil: null, readyUntil: null },
    ])
    expect(live.lines).toContainEqual(
      expect.objectContaining({
        msg: 'endpoint order',
        group: 'market',
        endpoint: one.url,
        state: 'drain',
        until: body.until,
      }),
    )
  })

  test('finishes what it has, and is not cut', async () => {
    const release = Promise.withResolvers<void>()
    const slow = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
    const other = await httpUpstream()
    const live = await run({ upstreams: { market: { endpoints: [slow.url, { url: other.url, drain: true }] } } })
    const call = fetch(`${live.url}/market/insights`)
    await expect.poll(() => slow.requests.length).toBe(1)

    await command(live, 'ready', { group: 'market', url: other.url, ttl: '1h' })
    await command(live, 'drain', { group: 'market', url: slow.url })
    release.resolve()

    expect(await (await call).text()).toBe('late')
  })

  test('takes work again at once when it is made ready, as the file says', async () => {
    const { live, one, sendRequests } = await runTwoServers()
    await command(live, 'drain', { group: 'market', url: one.url })

    const { body } = await command(live, 'ready', { group: 'market', url: one.url })

    expect(body).toEqual({ group: 'market', url: one.url, state: 'ready', reason: null, until: null })
    expect(await states(live)).toEqual(['up', 'up'])
    expect((await sendRequests(20))[0]).toBeGreaterThan(0)
  })

  test('that the file drains takes work for a while', async () => {
    const { live, two, sendRequests } = await runTwoServers({}, true)
    const before = await sendRequests(5)

    const { body } = await command(live, 'ready', { group: 'market', url: two.url, ttl: '1h' })

    expect(before).toEqual([5, 0])
    expect(await endpoints(live)).toMatchObject([{}, { state: 'up', readyUntil: body.until, drainUntil: null }])
    expect((await sendRequests(20))[1]).toBeGreaterThan(0)
  })

  test('that an edit has taken out is drained no more when it is made ready, and comes back so', async () => {
    const { live, one, two, settings } = await runTwo()
    await command(live, 'drain', { group: 'market', url: one.url })
    live.edit({ upstreams: { market: two.url } })
    await live.gateway.reload('request')

    const drain = await command(live, 'drain', { group: 'market', url: one.url })
    const ready = await command(live, 'ready', { group: 'market', url: one.url })
    const again = await command(live, 'ready', { group: 'market', url: one.url })
    live.edit(settings)
    await live.gateway.reload('request')

    expect([drain.status, ready.status, again.status]).toEqual([400, 200, 400])
    expect(ready.body).toMatchObject({ state: 'ready', until: null })
    expect(await states(live)).toEqual(['up', 'up'])
  })

  test('stays drained across a reload', async () => {
    const { live, one, settings, sendRequests } = await runTwoServers()
    await command(live, 'drain', { group: 'market', url: one.url })

    live.edit({ ...settings, operations: { 'leads.pipeline': { state: 'refuse' } } })
    await fetchAdmin(`${live.admin}/reload`, 'POST')

    expect(await states(live)).toEqual(['draining', 'up'])
    expect(await sendRequests(5)).toEqual([0, 5])
  })

  test('that is ejected is let in again when it is made ready', async () => {
    const { live, one, sendRequests, fail } = await runTwoServers({
      outlier: { consecutiveFailures: 1, ejectionTime: '10m' },
    })
    fail()
    await sendRequests(20)
    const before = await states(live)

    await command(live, 'ready', { group: 'market', url: one.url })

    expect(before).toEqual(['ejected', 'up'])
    expect(await states(live)).toEqual(['up', 'up'])
  })
})

describe('with a candidate', () => {
  interface Sides {
    readonly endpoints: readonly EndpointMembers[]
    readonly candidate: { readonly endpoints: readonly EndpointMembers[] } | null
  }
  const sides = async ({ admin }: LiveGateway): Promise<readonly (readonly string[])[]> => {
    const { upstreams } = (await fetchAdmin(`${admin}/status`)).body as unknown as { upstreams: { market: Sides } }
    const { endpoints: primary, candidate } = upstreams.market
    return [primary, candidate?.endpoints ?? []].map((each) => each.map(({ state }) => state))
  }
  let [a, b, c] = ['', '', '']
  beforeEach(() => {
    ;[a, b, c] = [nowhere(), nowhere(), nowhere()]
  })

  test('an endpoint of it is drained by its URL, the last one too, and made ready again', async () => {
    const live = await run({ upstreams: { market: { endpoints: [a], candidate: b } } })

    const { status, body } = await command(live, 'drain', { group: 'market', url: b })
    const drained = await sides(live)
    await command(live, 'ready', { group: 'market', url: b })

    expect([status, body]).toEqual([200, expect.objectContaining({ url: b, state: 'drain' })])
    expect(drained).toEqual([['up'], ['draining']])
    expect(await sides(live)).toEqual([['up'], ['up']])
  })

  test('its last one is not drained while requests of clients would fail', async () => {
    const market = { endpoints: [a], candidate: { endpoints: [b], share: '5%', fallback: false } }
    const live = await run({ upstreams: { market } })

    const rejected = await command(live, 'drain', { group: 'market', url: b })
    live.edit({ upstreams: { market: { ...market, candidate: { ...market.candidate, fallback: true } } } })
    await live.gateway.reload('request')

    expect(rejected).toMatchObject({
      status: 409,
      body: {
        code: 'last-endpoint',
        detail: expect.stringMatching(/^no other endpoint of the candidate of market .*shift market --abort/),
      },
    })
    expect((await command(live, 'drain', { group: 'market', url: b })).status).toBe(200)
  })

  test('one that stands on both sides is drained on both, and made ready on both', async () => {
    const market = { endpoints: [a, b], candidate: { endpoints: [{ url: b, drain: true }, c] } }
    const live = await run({ upstreams: { market } })

    await command(live, 'drain', { group: 'market', url: b })
    const drained = await sides(live)
    const { body } = await command(live, 'ready', { group: 'market', url: b })

    expect(drained).toEqual([
      ['up', 'draining'],
      ['draining', 'up'],
    ])
    expect(body.until).not.toBeNull() // the file drains it on one side
    expect(await sides(live)).toEqual([
      ['up', 'up'],
      ['up', 'up'],
    ])
  })

  test('its endpoints do not stand in for the last one of the primary', async () => {
    const live = await run({ upstreams: { market: { endpoints: [a], candidate: b } } })

    expect(await command(live, 'drain', { group: 'market', url: a })).toMatchObject({
      status: 409,
      body: { code: 'last-endpoint' },
    })
  })

  test('an unknown URL is answered with those of both', async () => {
    const live = await run({ upstreams: { market: { endpoints: [a, b], candidate: { endpoints: [b, c] } } } })

    expect((await command(live, 'drain', { group: 'market', url: 'http://x' })).body).toMatchObject({
      detail: expect.stringContaining(`one of ${a}, ${b}, ${c}, as`),
    })
  })

  test('what an edit brings as a candidate is drained while the order holds', async () => {
    const live = await run({ upstreams: { market: { endpoints: [a, b] } } })
    await command(live, 'drain', { group: 'market', url: b })

    live.edit({ upstreams: { market: { endpoints: [a, b], candidate: b } } })
    await live.gateway.reload('request')

    expect(await sides(live)).toEqual([['up', 'draining'], ['draining']])
  })
})

describe('the last one that takes work', () => {
  const rejected = { status: 409, body: { code: 'last-endpoint', detail: expect.stringContaining('ready first') } }

  test('is not drained', async () => {
    const { live, one, two } = await runTwo()
    await command(live, 'drain', { group: 'market', url: one.url })

    expect(await command(live, 'drain', { group: 'market', url: two.url })).toMatchObject(rejected)
    expect(await states(live)).toEqual(['draining', 'up'])
  })

  test('is not drained either when both are drained at once', async () => {
    const { live, one, two } = await runTwo()

    const responses = await Promise.all([one, two].map(({ url }) => command(live, 'drain', { group: 'market', url })))

    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('is not drained while the other one is ejected, which the error says', async () => {
    const { live, one, two, sendRequests, fail } = await runTwoServers({
      outlier: { consecutiveFailures: 1, ejectionTime: '10m' },
    })
    fail()
    await sendRequests(20)

    const { status, body } = await command(live, 'drain', { group: 'market', url: two.url })

    expect([status, body.detail]).toEqual([409, expect.stringContaining(`(${one.url} is ejected)`)])
    expect((await command(live, 'drain', { group: 'market', url: one.url })).status).toBe(200)
  })

  test('is not drained for longer than an order has the other one take work, which the error says', async () => {
    const { live, one, two } = await runTwo(true)
    const { body: ready } = await command(live, 'ready', { group: 'market', url: two.url, ttl: '15m' })

    const longer = await command(live, 'drain', { group: 'market', url: one.url, ttl: '4h' })
    const shorter = await command(live, 'drain', { group: 'market', url: one.url, ttl: '5m' })

    expect(longer).toMatchObject(rejected)
    expect(longer.body.detail).toContain(
      `(${two.url} takes it until ${ready.until} only): make another one ready first (endpoint ready market ${two.url}, with a --ttl above 4h), drain this one for less, add one`,
    )
    expect(shorter.status).toBe(200)
    expect(await states(live)).toEqual(['draining', 'up'])
  })

  test('is not drained for a day by the word of an order, and no hint names a longer time than that', async () => {
    const { live, one, two } = await runTwo(true)
    await command(live, 'ready', { group: 'market', url: two.url, ttl: '24h' })

    const { status, body } = await command(live, 'drain', { group: 'market', url: one.url, ttl: '24h' })

    expect(status).toBe(409)
    expect(body.detail).toContain(`first (endpoint ready market ${two.url}), drain this one for less, add one`)
  })

  test('is not drained for longer than that when it drains already, but for less', async () => {
    const { live, one, two } = await runTwo(true)
    await command(live, 'ready', { group: 'market', url: two.url, ttl: '1h' })
    const first = await command(live, 'drain', { group: 'market', url: one.url, ttl: '30m' })

    const longer = await command(live, 'drain', { group: 'market', url: one.url, ttl: '8h' })
    const before = await endpoints(live)
    const still = await command(live, 'drain', { group: 'market', url: one.url, ttl: '45m' })

    expect(longer).toMatchObject(rejected)
    expect(longer.body.detail).toContain('drain this one for less')
    expect(before).toMatchObject([{ state: 'draining', drainUntil: first.body.until }, { state: 'up' }])
    expect(still.status).toBe(200)
  })

  test('is not made to take work for less than the drain of the other one lasts', async () => {
    const { live, one, two } = await runTwo(true)
    const ready = async (url: string, ttl: string) => await command(live, 'ready', { group: 'market', url, ttl })
    const first = await ready(two.url, '2h')
    const { body: drain } = await command(live, 'drain', { group: 'market', url: one.url, ttl: '1h' })

    const early = await ready(two.url, '10m')
    const before = await endpoints(live)
    const late = await ready(two.url, '90m')
    await ready(one.url, '15m')
    const spared = await ready(two.url, '10m')

    expect(early).toMatchObject({ status: 409, body: { code: 'last-endpoint' } })
    expect(early.body.detail).toContain(
      `no other endpoint of market takes work until ${drain.until}, when a drain ends`,
    )
    expect(before).toMatchObject([{ state: 'draining' }, { state: 'up', readyUntil: first.body.until }])
    expect([late.status, spared.status]).toEqual([200, 200])
  })

  test('is made to take work for a short time where none does, until the drain of the other one ends', async () => {
    const { live, one, two } = await runTwo()
    await command(live, 'drain', { group: 'market', url: one.url, ttl: '1h' })
    live.edit({ upstreams: { market: { endpoints: [one.url, { url: two.url, drain: true }] } } })
    await live.gateway.reload('request')

    const { status } = await command(live, 'ready', { group: 'market', url: two.url, ttl: '10m' })

    expect(status).toBe(200)
    expect(await states(live)).toEqual(['draining', 'up'])
  })

  test('that drains already, and that an edit left alone, is drained for less and not for longer', async () => {
    const { live, one } = await runTwo()
    await command(live, 'drain', { group: 'market', url: one.url, ttl: '1h' })
    live.edit({ upstreams: { market: one.url } })
    await live.gateway.reload('request')

    const longer = await command(live, 'drain', { group: 'market', url: one.url, ttl: '2h' })
    const shorter = await command(live, 'drain', { group: 'market', url: one.url, ttl: '30m' })

    expect(longer).toMatchObject({ status: 409, body: { code: 'last-endpoint' } })
    expect(shorter.status).toBe(200)
  })

  test('is no endpoint that the file drains or gives no weight: those are drained, again and for longer too', async () => {
    const { live, one, two } = await runTwo()
    const drain = async (url: string, ttl: string) =>
      (await command(live, 'drain', { group: 'market', url, ttl })).status
    await drain(one.url, '1h')
    const weightless = { url: 'http://127.0.0.1:1', weight: 0 }
    live.edit({ upstreams: { market: { endpoints: [one.url, { url: two.url, drain: true }, weightless] } } })
    await live.gateway.reload('request')

    expect(await states(live)).toEqual(['draining', 'draining', 'draining'])
    expect([await drain(two.url, '1m'), await drain(two.url, '2h')]).toEqual([200, 200])
    expect([await drain(weightless.url, '1m'), await drain(weightless.url, '2h')]).toEqual([200, 200])
  })

  test('is drained for as long as an order stands that the file needs no longer', async () => {
    const { live, one, two, settings } = await runTwo(true)
    await command(live, 'ready', { group: 'market', url: two.url, ttl: '15m' })
    live.edit({ ...settings, upstreams: { market: { endpoints: [one.url, two.url] } } })
    await live.gateway.reload('request')

    const { status } = await command(live, 'drain', { group: 'market', url: one.url, ttl: '4h' })

    expect(status).toBe(200)
  })

  test('may be drained for longer when it drains already', async () => {
    const { live, one } = await runTwo()
    const first = await command(live, 'drain', { group: 'market', url: one.url, ttl: '1m' })

    const { status, body } = await command(live, 'drain', { group: 'market', url: one.url, ttl: '2h' })

    expect(status).toBe(200)
    expect(Date.parse(String(body.until))).toBeGreaterThan(Date.parse(String(first.body.until)))
  })
})

const idle = await shareLiveGateway()

describe('a command that cannot be parsed changes nothing and says what was expected', () => {
  const url = 'http://127.0.0.1:1'

  test.each([
    ['nothing', '', 'a JSON object'],
    ['no group', { url }, 'group is expected to be one of valuation'],
    ['an unknown group', { group: 'markets', url }, 'market'],
    ['an endpoint that is not there', { group: 'market', url: 'http://a' }, 'url is expected to be one of sandbox'],
    ['an endpoint of another spelling', { group: 'market', url: 'SANDBOX' }, 'one of sandbox'],
    ['no endpoint', { group: 'market' }, 'one of sandbox'],
    ['a bare number as time to live', { group: 'market', url: 'sandbox', ttl: 15 }, 'such as 15m'],
    ['a time to live beyond a day', { group: 'market', url: 'sandbox', ttl: '25h' }, 'to 24h'],
    ['an unknown key', { group: 'market', endpoint: 'sandbox' }, 'write group, url, ttl and reason'],
  ])('%s', async (_, body, expected) => {
    const { status, body: problem } = await command(idle, 'drain', body)

    expect(status).toBe(400)
    expect(problem.detail).toContain(expected)
    expect(await states(idle)).toEqual(['up'])
  })
})

test('a command while the gateway stops is rejected', async () => {
  const live = await bootLiveGateway()

  const closing = live.gateway.close(500)
  const { status, body } = await command(live, 'drain', { group: 'market', url: 'sandbox' })

  expect([status, body.code]).toEqual([503, 'stopping'])
  await closing
})

test.each([
  ['in which it may be ejected still', 1, async () => {}],
  ['which has not taken up the end of the order', 0, () => Promise.reject(new WorkersNotAnsweringError('planted'))],
])('an endpoint is made ready in part beside a worker that does not answer, %s', async (_, unanswered, apply) => {
  const context = {
    runEverywhere: async () => ({ results: [undefined], unanswered }),
    overrides: new Overrides(),
    draining: () => false,
  } as unknown as AdminContext
  const ready = endpointCommands.commands.find(({ choice }) => choice === 'ready')
  const run = (outage: 'ejected' | null) => {
    const plan = { group: 'market', url: 'http://a', targets: [{ outage }], endpoints: [], ttlMs: null }
    return ready?.run(context, plan, { by: 'an operator', apply, recheck: () => null })
  }

  const [ejected, drained] = [await run('ejected'), await run(null)]

  expect(ejected).toMatchObject({
    code: 'workers-not-answering',
    done: { group: 'market', endpoint: 'http://a', state: 'ready' },
  })
  expect(drained).toMatchObject({ code: 'workers-not-answering' })
  expect(drained).not.toHaveProperty('done') // no worker had it ejected: nothing was done
})
