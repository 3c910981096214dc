/** Commands that are run from pages, as by a browser without scripts. */
import { describe, expect, test } from 'vitest'
import type { PageResponse } from '../../../../helpers/form-browser.ts'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../../helpers/form-browser.ts'
import { bootLiveGateway, type LiveGateway, shareLiveGateway } from '../../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const market = { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] }
const url = 'http://127.0.0.1:1'

const confirm = async (live: LiveGateway, target: string): Promise<PageResponse> => {
  const page = await visitPage(live.admin + target)
  expect([target, page.status]).toEqual([target, 200])
  return submitForm(live.admin + target.split('?')[0], hiddenFields(page))
}

const words = ({ text }: PageResponse): string =>
  text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
    .replaceAll(/\s+/g, ' ')

const idle = await shareLiveGateway({ upstreams: { market }, operations: { 'leads.pipeline': { state: 'reject' } } })

const insights = 'operation=market.insights'

describe('a page says what would happen, and nothing does', () => {
  test.each([
    ['reload', 'Reload the configuration?', 'is read again. It is the running configuration'],
    ['reload?force=true', 'Reload the configuration by force?', 'New endpoints are not tried'],
    [
      `drain?group=market&url=${url}`,
      `Drain ${url}?`,
      `${url} of market gets no new requests for 15 minutes. It finishes 0 requests in flight. market is then served by http://127.0.0.1:2.`,
    ],
    [`drain?group=market&url=${url}&ttl=90m`, `Drain ${url}?`, 'no new requests for 1 hour 30 minutes'],
    [`ready?group=market&url=${url}`, `Make ${url} ready?`, `${url} of market gets new requests again, from now on`],
    [
      'learn-contract?for=4h&enums=true',
      'Learn the contract?',
      'For 4 hours the shape of requests and responses is learned, with the values of strings that look like enumerations. No other value is kept, and no client notices. What was learned before is forgotten.',
    ],
    [
      `reject?${insights}`,
      'Reject market.insights?',
      'Every client of GET /market/insights gets 503 for 15 minutes, with Retry-After',
    ],
    [`serve?${insights}`, 'Serve market.insights?', 'GET /market/insights is served from now on, as the file says'],
    [
      'serve?operation=leads.pipeline&ttl=1h',
      'Serve leads.pipeline?',
      'The file rejects every request to leads.pipeline. GET /leads/pipeline is served all the same for 1 hour, and then rejected again',
    ],
    ['clear-cache', 'Clear the cache?', 'All stored responses are removed, for every client'],
    [
      `clear-cache?${insights}`,
      'Clear the cache of market.insights?',
      'All stored responses of market.insights are removed',
    ],
  ])('%s', async (target, title, what) => {
    const page = await visitPage(`${idle.admin}/actions/${target}`)

    expect(page.status).toBe(200)
    for (const text of [title, what]) expect(words(page)).toContain(text)
    expect(page.text).toContain(`<form method="post" action="/actions/${target.split('?')[0]}">`)
    expect(idle.lines.map(({ msg }) => msg)).not.toContain('admin request')
  })

  test.each([
    ['reload?force=0', 400, 'Force is expected to be true, or to be left out; nothing was done.'],
    ['rollback', 409, 'Nothing to roll back: the running configuration is the first since the start.'],
    ['rollback?to=x', 400, '"to" is not expected: rollback takes force, each once at most.'],
    ['drain', 400, 'Group is expected to be one of valuation'],
    ['drain?group=market&url=http://other', 400, `Url is expected to be one of ${url}, http://127.0.0.1:2`],
    [`drain?group=market&url=${url}&ttl=25h`, 400, 'Ttl is expected to be a duration from 1s to 24h'],
    [`drain?group=market&url=${url}&group=risk`, 400, '"group" is not expected: drain takes group, url, ttl, reason,'],
    ['drain?group=risk&url=sandbox', 409, 'No other endpoint of risk takes work'],
    ['reject?operation=tenth', 400, 'Operation is expected to be one of valuation.score'],
    ['clear-cache?operation=inventory.sync', 400, 'Operation is expected to be one of analysis.esg-grant'],
    ['clear-cache?__proto__=1', 400, '"__proto__" is not expected'],
  ])('%s is rejected with a reason', async (target, status, reason) => {
    const page = await visitPage(`${idle.admin}/actions/${target}`)

    expect(page.status).toBe(status)
    expect(words(page)).toContain(reason)
    expect(page.text).not.toContain('<form method="post" action="/actions/')
  })

  test('another time is chosen by a link, and the form then says the same as the words', async () => {
    const page = await follow(`${idle.admin}/actions/reject?operation=market.insights`, '4 hours')

    expect(words(page)).toContain('gets 503 for 4 hours')
    expect(hiddenFields(page)).toMatchObject({ operation: 'market.insights', ttl: '4h' })
  })
})

/** Opens a page, and follows its link with these words. */
const follow = async (url: string, link: string): Promise<PageResponse> => {
  const [, href = ''] = new RegExp(`<a href="([^"]*)">${link}</a>`).exec((await visitPage(url)).text) ?? []
  return visitPage(new URL(href.replaceAll('&#38;', '&'), url).href)
}

test('every page says which gateway it acts on, also after the file has given it another name', async () => {
  const instance = { name: 'gateway-eu-1', environment: 'production', color: 'red' }
  const live = await bootLiveGateway({ upstreams: { market }, instance })

  const question = await visitPage(`${live.admin}/actions/drain?group=market&url=${url}`)
  live.edit({ upstreams: { market }, instance: { ...instance, name: 'gateway-eu-2' } })
  await live.gateway.reload('request')
  const renamed = await visitPage(`${live.admin}/actions/reload`)
  const rejected = await visitPage(`${live.admin}/actions/drain?group=market&url=http://127.0.0.1:9`)

  expect(question.text).toContain(`<title>Drain ${url}? · production · gateway-eu-1 · lender gateway</title>`)
  expect(words(question)).toContain(`Drain ${url}? On production · gateway-eu-1 :`)
  expect(words(renamed)).toContain('On production · gateway-eu-2 :')
  expect(words(rejected)).toContain('Rejected · production · gateway-eu-2')
})

const live = await shareLiveGateway({ upstreams: { market }, reload: { watch: false, preflight: 'connect' } })

describe('what is confirmed is done, as a script’s command is', () => {
  test('an operation is rejected, and serves again', async () => {
    const rejected = await confirm(live, '/actions/reject?operation=leads.pipeline&ttl=1h')
    const response = await fetch(`${live.url}/leads/pipeline`)
    const served = await confirm(live, '/actions/serve?operation=leads.pipeline')

    expect([rejected.status, rejected.location, rejected.text]).toEqual([303, '/', ''])
    expect([response.status, served.status]).toEqual([503, 303])
    expect((await fetch(`${live.url}/leads/pipeline`)).status).toBe(200)
    const order = { operation: 'leads.pipeline', state: 'reject', until: expect.any(String) }
    expect(await live.line(({ msg }) => msg === 'operation override')).toMatchObject(order)
    const request = { method: 'POST', url: '/actions/reject', status: 303 }
    expect(await live.line(({ msg }) => msg === 'admin request')).toMatchObject(request)
  })

  test('an endpoint is drained, and made ready, but no page drains the last one that is left meanwhile', async () => {
    const states = async () => {
      const { upstreams } = JSON.parse((await visitPage(`${live.admin}/status`)).text)
      return upstreams.market.endpoints.map(({ state }: { state: string }) => state)
    }
    const form = hiddenFields(await visitPage(`${live.admin}/actions/drain?group=market&url=http://127.0.0.1:2`))

    const drain = await confirm(live, `/actions/drain?group=market&url=${url}`)
    const drained = await states()
    const page = await submitForm(`${live.admin}/actions/drain`, form)
    const problem = await submitForm(`${live.admin}/actions/drain`, form, { accept: '*/*' })
    const ready = await confirm(live, `/actions/ready?group=market&url=${url}`)

    expect([drain.status, drained]).toEqual([303, ['draining', 'up']])
    expect([page.status, words(page)]).toEqual([409, expect.stringContaining('No other endpoint of market takes work')])
    expect(JSON.parse(problem.text)).toMatchObject({ status: 409, code: 'last-endpoint' })
    expect([ready.status, await states()]).toEqual([303, ['up', 'up']])
    const order = { endpoint: url, group: 'market', state: 'drain' }
    expect(await live.line(({ msg }) => msg === 'endpoint override')).toMatchObject(order)
  })

  test('the file is read again; what it said before comes back, by no form whose page showed something else', async () => {
    const upstream = await httpUpstream()
    const first = live.gateway.config.hash
    live.edit({ upstreams: { market, risk: upstream.url } })
    const rollback = `${live.admin}/actions/rollback`

    const before = words(await visitPage(`${live.admin}/actions/reload`))
    const reloaded = await confirm(live, '/actions/reload')
    const second = live.gateway.config.hash
    const page = await visitPage(rollback)
    const twice = await Promise.all([1, 2].map(() => submitForm(rollback, hiddenFields(page))))
    const rolledBack = live.gateway.config.hash
    const old = hiddenFields(await visitPage(rollback))
    live.edit({ upstreams: { market }, operations: { 'market.insights': { state: 'reject' } } })
    await live.gateway.reload('request')
    const third = live.gateway.config.hash
    const byForce = await submitForm(rollback, { ...old, force: 'true' }, { accept: '*/*' })

    expect(before).toContain(`It differs from the running configuration (${first})`)
    expect([reloaded.status, ...twice.map(({ status }) => status).toSorted()]).toEqual([303, 303, 409])
    expect(words(page)).toContain(`${first} instead of ${second}, 1 change in risk`)
    expect(words(page)).toContain(`upstreams.risk.endpoints : ["${upstream.url}"] → ["sandbox"]`)
    expect(twice.map(words).join()).toContain(
      `The page showed a rollback from ${second} to ${first}, but now ${first} runs, and a rollback returns to ${second}: nothing was done`,
    )
    expect([second === first, rolledBack]).toEqual([false, first])
    expect(await live.line(({ msg }) => msg === 'configuration applied')).toMatchObject({ trigger: 'request' })
    expect([byForce.status, JSON.parse(byForce.text)]).toMatchObject([409, { code: 'outdated-page' }])
    expect([third === first, live.gateway.config.hash]).toEqual([false, third])
  })

  test('a file with faults is rejected with each of them and where it is', async () => {
    live.edit('version: 1\nupstreams:\n  risc: sandbox\n')

    const response = await confirm(live, '/actions/reload')

    expect(response.status).toBe(422)
    expect(words(response)).toContain('The file is rejected; the running configuration stays in effect.')
    expect(words(response)).toContain(`${live.file}:3:3 upstreams.risc: unknown key; did you mean "risk"?`)
  })

  test('an edit that leads nowhere is rejected, unless by force', async () => {
    live.edit({ upstreams: { market, risk: url } })

    const rejected = await confirm(live, '/actions/reload')
    const forced = await confirm(live, '/actions/reload?force=true')

    expect(rejected.status).toBe(422)
    expect(words(rejected)).toContain('no new endpoint of risk can be reached')
    expect(forced.status).toBe(303)
  })
})

test('what is done in a session is logged with its name; the login does not say which gateway it is', async () => {
  const live = await bootLiveGateway({ admin: { token }, instance: { name: 'gateway-eu-1' } })
  expect((await visitPage(`${live.admin}/login`)).text).not.toContain('gateway-eu-1')
  const session = await logIn(live.admin)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reload`, session))

  const response = await submitForm(`${live.admin}/actions/reload`, form, session)

  const { session: name } = await live.line(({ msg }) => msg === 'login')
  expect(response.status).toBe(303)
  const line = { session: name, client: '127.0.0.1', status: 303 }
  expect(await live.line(({ msg, url }) => msg === 'admin request' && url === '/actions/reload')).toMatchObject(line)
})

const steps = { shares: ['1%', '10%', '100%'], every: '15m' }
const candidate = { endpoints: ['http://127.0.0.1:3'], steps }
const shifting = await shareLiveGateway({ upstreams: { market: { ...market, candidate } } })

describe('the shift of a candidate', () => {
  test.each([
    [
      'to=10%25',
      'Shift 10% of the clients of market?',
      'The clients that are there stay. Now it gets 1% of the clients: step 1 of 3',
    ],
    ['to=0%25&for=4h', 'Shift 0% of the clients of market?', 'The others go back to the primary.'],
    ['pause=true', 'Pause the steps of market?', 'No further step begins until an operator resumes them.'],
    ['abort=true', 'Abort the shift of market?', 'no share of the clients, no client by name, no copies'],
  ])('%s is asked about before', async (order, title, what) => {
    const page = await visitPage(`${shifting.admin}/actions/shift?group=market&${order}`)

    expect(page.status).toBe(200)
    for (const text of [title, what]) expect(words(page)).toContain(text)
  })

  test('can go on with another share, by a link', async () => {
    const page = await follow(`${shifting.admin}/actions/shift?group=market&to=1%25&for=4h`, '50%')

    expect(words(page)).toContain('For 4 hours the candidate of market gets 50% of the clients')
    expect(hiddenFields(page)).toMatchObject({ group: 'market', to: '50%', for: '4h' })
  })

  test('is ordered with a reason, and the page says how it stands and offers what can be done now', async () => {
    const live = shifting
    const page = await visitPage(`${live.admin}/actions/shift?group=market&to=10%25`)

    const done = await submitForm(`${live.admin}/actions/shift`, { ...hiddenFields(page), reason: '<b>CHG</b>' })
    const overview = await visitPage(`${live.admin}/`)

    expect([page.status, done.status]).toEqual([200, 303])
    expect(words(overview)).toContain('The candidate of market gets 10% of the clients by 127.0.0.1 until')
    expect(overview.text).not.toContain('<b>CHG</b>')
    const [, row = ''] = /<tr id="candidate-market"[^>]*>(.*?)<\/tr>/s.exec(overview.text) ?? []
    const links = [...row.matchAll(/href="\/actions\/shift\?group=market&#38;([^"]*)"/g)].map(([, order]) => order)
    expect(links).toEqual(['to=25%25', 'pause=true', 'resume=true', 'abort=true'])
    expect(await live.line(({ msg }) => msg === 'shift command')).toMatchObject({
      command: '10%',
      reason: '<b>CHG</b>',
    })
  })
})
