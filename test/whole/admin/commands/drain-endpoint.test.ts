import { describe, expect, onTestFinished, test } from 'vitest'
import type { AdminContext } from '../../../../src/core/admin/admin-context.ts'
import { isAdminError } from '../../../../src/core/admin/admin-error.ts'
import { findClients } from '../../../../src/core/admin/admin-parts.ts'
import type { Config } from '../../../../src/core/config/config.ts'
import { durations } from '../../../../src/core/lib/text/units.ts'
import { Overrides } from '../../../../src/core/runtime/overrides.ts'
import { WorkersNotReplyingError } from '../../../../src/core/runtime/proxy-server.ts'
import { endpointCommands } from '../../../../src/features/overrides/endpoint-commands.ts'
import { listEndpointStates } from '../../../../src/features/overrides/endpoint-states.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { idleOverrides } from '../../../helpers/idle-features.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

type Report = Awaited<ReturnType<AdminContext['report']>>

/** The endpoints of a file such as `a b:drain c:zero | d`: of market, and behind the line of its candidate. */
const sidesOf = (file: string) =>
  file.split(' | ').map((side) =>
    side.split(' ').map((word) => {
      const [name = '', how = 'up'] = word.split(':')
      return { url: `http://${name}`, how, drain: how === 'drain', weight: how === 'zero' ? 0 : 100 }
    }),
  )

const configs = new Map<string, Config>()

const configOf = (file: string, candidate: object): Config => {
  const key = JSON.stringify([file, candidate])
  const [endpoints, others] = sidesOf(file).map((side) => side.map(({ how, ...entry }) => entry))
  const market = { endpoints, ...(others && { candidate: { endpoints: others, ...candidate } }) }
  const config = configs.get(key) ?? testConfig({ upstreams: { market } })
  configs.set(key, config)
  return config
}

/** Runs commands in order on these endpoints, without a gateway. */
const openMarket = (first: string, candidate: object = {}) => {
  let file = first
  const overrides = new Overrides()
  onTestFinished(() => overrides.clear())
  const toReport = () => {
    const [primary, other] = sidesOf(file).map((side) => ({
      endpoints: side.map(({ url, how }) => ({ url, inFlight: 0, state: { name: how } })),
    }))
    return { upstreams: { market: { ...primary, candidate: other ?? null } } } as unknown as Report
  }
  const context = {
    ...{ overrides: Object.assign(overrides, idleOverrides), findClients, draining: () => false },
    reloader: {
      get config() {
        return configOf(file, candidate)
      },
    },
    ...{ report: async () => toReport(), runEverywhere: async () => ({ results: [], silent: 0 }) },
  } as unknown as AdminContext
  return {
    edit(next: string) {
      file = next
    },
    /** Runs a command such as `drain a 15m`; returns its error, or its end (null: as in the file). */
    async order(words: string) {
      const [choice, name, ttl = '15m'] = words.split(' ')
      const command = endpointCommands.commands.find((each) => each.choice === choice)
      const values = { group: 'market', url: `http://${name}`, ttl: durations.parse(ttl), reason: null }
      const plan = (await command?.plan(context, values)) ?? {}
      if (isAdminError(plan)) return `${plan.code}: ${plan.detail}`
      const done = await command?.run(context, plan, { by: 'anna', apply: async () => {} } as never)
      return (done as { until: string | null }).until
    },
    /** The endpoints that get requests: `a b`. */
    takers: () =>
      listEndpointStates(context, 'market', toReport().upstreams.market)
        .flatMap(({ url, takesWork }) => (takesWork ? [url.slice('http://'.length)] : []))
        .join(' '),
  }
}

const last = 'last-endpoint: no other endpoint of market takes work'

/** The file, the endpoints that get requests, and the commands; `!` marks a rejected command. */
type Row = [what: string, file: string, takers: string, ...orders: string[]]

test.each<Row>([
  ['takes no work', 'a b', 'b', 'drain a'],
  ['takes work as the file says when it is made ready', 'a b', 'a b', 'drain a', 'ready a'],
  ['takes work that the file drains', 'a b:drain', 'a b', 'ready b 1h'],
  ['is the last one', 'a b', 'b', 'drain a', '!drain b'],
  ['is the last one whichever of its entries takes work', 'a:zero a', 'a', '!drain a'],
  ['is made ready in both of its entries', 'a a:drain', 'a', 'ready a'],
  ['is not the last one that is ejected itself', 'a:ejected b', 'b', 'drain a'],
  ['is not drained for longer than the other takes work', 'a b:drain', 'b', 'ready b', '!drain a 4h', 'drain a 5m'],
  ['of weight 0 is made ready where an order drains it', 'a b:zero', 'a', 'drain b', 'ready b', '!ready b'],
  ['is drained for longer while it drains', 'a b', 'b', 'drain a 1m', 'drain a 2h'],
  ['is drained for less', 'a b:drain', 'b', 'ready b 1h', 'drain a 30m', '!drain a 8h', 'drain a 45m'],
  ['takes work for long enough', 'a b:drain', 'b', 'ready b 2h', 'drain a 1h', '!ready b 10m', 'ready b 90m'],
  ['is spared that by another', 'a b:drain', 'a b', 'ready b 2h', 'drain a 1h', 'ready a', 'ready b 10m'],
  ['takes work for a while', 'a b', 'b', 'drain a 1h', 'file a b:drain', 'ready b 10m'],
  ['is the last one after an edit', 'a b', '', 'drain a 1h', 'file a', '!drain a 2h', 'drain a 30m'],
  ['drains by the file', 'a b', '', 'drain a 1h', 'file a b:drain c:zero', 'drain b', 'drain b 2h', 'drain c'],
  ['is spared an order that the file needs no longer', 'a b:drain', 'b', 'ready b', 'file a b', 'drain a 4h'],
  ['comes back ready', 'a b', 'a b', 'drain a', 'file b', '!drain a', 'ready a', '!ready a', 'file a b'],
  ['of a candidate is drained, the last one too', 'a | b', 'a', 'drain b'],
  ['of a candidate is made ready again', 'a | b', 'a b', 'drain b', 'ready b'],
  ['of a candidate does not stand in for the primary', 'a | b', 'a b', '!drain a'],
  ['of both sides is drained on both', 'a b | b:drain c', 'a c', 'drain b'],
  ['of both sides is made ready on both', 'a b | b:drain c', 'a b b c', 'drain b', 'ready b'],
  ['that comes as a candidate is drained', 'a b', 'a', 'drain b', 'file a b | b'],
])('an endpoint %s', async (_, file, takers, ...orders) => {
  const market = openMarket(file)
  const rejected: string[] = []

  for (const words of orders) {
    const [, edited] = /^file (.*)/.exec(words) ?? []
    if (edited !== undefined) market.edit(edited)
    else if (/: /.test(String(await market.order(words.replace('!', ''))))) rejected.push(words)
  }

  expect(rejected).toEqual(orders.filter((words) => words.startsWith('!')))
  expect(market.takers()).toBe(takers)
})

test.each<[string, string, ...string[]]>([
  [`${last}: make another one ready first (endpoint ready market http://a), add one`, 'a b', 'drain a', 'drain b'],
  [`${last} (http://b has weight 0): make another one ready first, add one`, 'a b:zero', 'drain a'],
  [`${last} (http://a is ejected)`, 'a:ejected b', 'drain b'],
  ['no-weight: ', 'a b:zero', 'ready b'],
  ['(endpoint ready market http://b, with a --ttl above 4h), drain this', 'a b:drain', 'ready b', 'drain a 4h'],
  // No hint names a time above the limit.
  ['(endpoint ready market http://b), drain this one for a shorter time', 'a b:drain', 'ready b 23h', 'drain a 24h'],
  ['when a drain ends', 'a b:drain', 'ready b 2h', 'drain a 1h', 'ready b 10m'],
  ['one of http://a, http://b, http://c, as', 'a b | b c', 'drain x'],
])('a rejected order says why: %s', async (words, file, ...orders) => {
  const market = openMarket(file)
  const outcomes: unknown[] = []
  for (const each of orders) outcomes.push(await market.order(each))

  expect(outcomes.at(-1)).toContain(words)
})

test('a rejected order names the time until which the others take work', async () => {
  const market = openMarket('a b:drain')
  const until = await market.order('ready b')
  expect(await market.order('drain a 4h')).toContain(`${last} (http://b takes work only until ${until}): make`)

  const end = await market.order('drain a 5m')
  expect(await market.order('ready b 1m')).toContain(
    `no other endpoint of market takes work until ${end}, when a drain`,
  )
})

test('the last endpoint of a candidate is not drained while requests of clients would fail', async () => {
  const share = { share: '5%', fallback: false }

  expect(await openMarket('a | b', share).order('drain b')).toMatch(
    /^last-endpoint: no other endpoint of the candidate of market .*shift market --abort/,
  )
  expect(await openMarket('a | b', { ...share, fallback: true }).order('drain b')).toMatch(/Z$/)
})

test('an order ends with null as its time where the file says the same, and else with a time', async () => {
  const market = openMarket('a b b:drain')

  expect([await market.order('drain a'), await market.order('ready b')]).toEqual(
    Array(2).fill(expect.stringMatching(/Z$/)),
  )
  expect(await market.order('ready a')).toBeNull()
})

const command = ({ admin }: LiveGateway, state: 'drain' | 'ready', body: object) =>
  fetchAdmin(`${admin}/endpoints/${state}`, 'POST', { body: JSON.stringify(body) })

interface Status {
  readonly upstreams: { readonly market: { readonly endpoints: readonly { readonly state: string; since: unknown }[] } }
}

const endpoints = async ({ admin }: LiveGateway) =>
  ((await fetchAdmin(`${admin}/status`)).body as object as Status).upstreams.market.endpoints

const states = async (live: LiveGateway) => (await endpoints(live)).map(({ state }) => state)

/** Boots a gateway and servers for market, as listed. */
const bootWith = async (entries: readonly object[] = [{}, {}], more: object = {}) => {
  let status = 200
  const servers = await Promise.all(
    entries.map((_, nth) => httpUpstream((_, response) => void response.writeHead(nth === 0 ? status : 200).end())),
  )
  const market = { endpoints: entries.map((entry, nth) => ({ url: servers[nth]?.url, ...entry })), ...more }
  const live = await bootLiveGateway({ upstreams: { market } })
  return {
    ...{ live, urls: servers.map(({ url }) => url) },
    /** Reloads an edit of something else. */
    async reload() {
      live.edit({ upstreams: { market }, operations: { 'leads.pipeline': { state: 'reject' } } })
      expect((await live.gateway.reload('request')).result).toBe('applied')
    },
    async sendRequests(times: number) {
      for (let i = 0; i < times; i++) await (await fetch(`${live.url}/market/insights`)).text()
      return servers.map(({ requests }) => requests.length)
    },
    fail() {
      status = 500
    },
    order: (state: 'drain' | 'ready', url = '', ttl = '15m') => command(live, state, { group: 'market', url, ttl }),
  }
}

describe('at a gateway, an endpoint', () => {
  test('that is drained takes no new work, also after a reload, until it is made ready, and the log says so', async () => {
    const { live, urls, sendRequests, order, reload } = await bootWith([{}, {}, { drain: true }], {
      balance: 'round-robin',
    })
    const [url, , third] = urls

    const { status, body } = await order('drain', url, '10m')

    const [of, at] = [{ group: 'market', state: 'drain' }, expect.stringMatching(/Z$/)]
    expect([status, body]).toEqual([200, { ...of, url, reason: null, until: at }])
    expect(await sendRequests(20)).toEqual([0, 20, 0])
    const before = await endpoints(live)
    expect(before).toMatchObject([
      { state: 'draining', drainUntil: body.until, readyUntil: null },
      { state: 'up', since: null, drainUntil: null, readyUntil: null },
      { state: 'draining', since: at, drainUntil: null, readyUntil: null },
    ])
    expect(live.lines).toContainEqual(
      expect.objectContaining({ msg: 'endpoint override', ...of, endpoint: url, until: body.until }),
    )
    await reload()
    expect(await sendRequests(5)).toEqual([0, 25, 0])
    expect((await endpoints(live)).map(({ since }) => since)).toEqual(before.map(({ since }) => since))

    const ready = [await order('ready', url), await order('ready', third, '1h')]

    expect(ready[0]?.body).toEqual({ group: 'market', url, state: 'ready', reason: null, until: null })
    expect(ready[1]?.body.until).toEqual(at)
    expect(await endpoints(live)).toMatchObject([
      { state: 'up' },
      { state: 'up' },
      { state: 'up', readyUntil: ready[1]?.body.until, drainUntil: null },
    ])
    expect(await sendRequests(9)).toEqual([3, 28, 3])
  })

  test('is what the file says again when the time of an override is over, and the log says so', async () => {
    const { live, urls, order } = await bootWith()
    await order('drain', urls[0], '1s')
    const before = await states(live)

    const ended = await live.line(({ msg }) => msg === 'endpoint override ended')

    expect(before).toEqual(['draining', 'up'])
    expect(ended).toMatchObject({ level: 30, group: 'market', endpoint: urls[0] })
    expect(await states(live)).toEqual(['up', 'up'])
  })

  test('finishes what it has, and is not cut', async () => {
    const release = Promise.withResolvers<void>()
    const slow = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
    const endpoints = [slow.url, { url: 'http://127.0.0.1:1', drain: true }]
    const live = await bootLiveGateway({ upstreams: { market: { endpoints } } })
    const call = fetch(`${live.url}/market/insights`)
    await expect.poll(() => slow.requests.length).toBe(1)

    const orders = [
      await command(live, 'ready', { group: 'market', url: 'http://127.0.0.1:1', ttl: '1h' }),
      await command(live, 'drain', { group: 'market', url: slow.url, ttl: '15m' }),
    ]
    release.resolve()

    expect(orders.map(({ status }) => status)).toEqual([200, 200])
    expect(await (await call).text()).toBe('late')
  })

  test('that is ejected is let in again when it is made ready', async () => {
    const outlier = { consecutiveFailures: 1, ejectionTime: '10m' }
    const { live, urls, sendRequests, fail, order } = await bootWith(undefined, { outlier })
    fail()
    await sendRequests(20)
    const before = await states(live)

    await order('ready', urls[0])

    expect(before).toEqual(['ejected', 'up'])
    expect(await states(live)).toEqual(['up', 'up'])
  })

  test('is the last one when both are drained at once', async () => {
    const { urls, order } = await bootWith()

    const responses = await Promise.all(urls.map((url) => order('drain', url)))

    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

const idle = await shareLiveGateway()

describe('a command that cannot be parsed changes nothing and says what was expected', () => {
  const url = 'http://127.0.0.1:1'

  test.each([
    ['no group', { url }, 'group is expected to be one of valuation'],
    ['an unknown group', { group: 'markets', url }, 'market'],
    ['an endpoint that is not there', { group: 'market', url: 'http://a' }, 'url is expected to be one of sandbox'],
    ['an endpoint of another spelling', { group: 'market', url: 'SANDBOX' }, 'one of sandbox'],
    ['no endpoint', { group: 'market' }, 'one of sandbox'],
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
  ['which has not taken up the end of the order', 0, () => Promise.reject(new WorkersNotReplyingError('planted'))],
])('an endpoint is made ready in part beside a worker that does not reply, %s', async (_, silent, apply) => {
  const context = {
    runEverywhere: async () => ({ results: [undefined], silent }),
    overrides: new Overrides(),
    draining: () => false,
  } as unknown as AdminContext
  const ready = endpointCommands.commands.find(({ choice }) => choice === 'ready')
  const run = (outage: 'ejected' | null) => {
    const plan = { group: 'market', url: 'http://a', targets: [{ outage }], endpoints: [], ttlMs: null }
    return ready?.run(context, plan, { by: 'an operator', apply, recheck: () => null })
  }

  const [ejected, drained] = [await run('ejected'), await run(null)]

  const done = { group: 'market', endpoint: 'http://a', state: 'ready' }
  expect(ejected).toMatchObject({ code: 'workers-not-replying', done })
  expect(drained).toMatchObject({ code: 'workers-not-replying' })
  expect(drained).not.toHaveProperty('done') // no worker had it ejected: nothing was done
})
