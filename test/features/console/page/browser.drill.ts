/** The page in a real browser: Debian's chromium. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { maxStreams } from '../../../../src/features/console/page/sse-hub.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { findGraveViolations } from '../../../helpers/axe.ts'
import { chromiumProgram, useChromium } from '../../../helpers/chromium.ts'
import { freePort } from '../../../helpers/free-port.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

describe.skipIf(chromiumProgram.missing)('in a browser', { timeout: 60_000 }, () => {
  const openPage = useChromium()

  /** Opens a page; records errors of the browser and origins of requests. */
  const visit = async (url: string, options: BrowserContextOptions = {}) => {
    const page = await openPage({ viewport: { width: 1280, height: 900 }, ...options })
    const complaints: string[] = []
    const origins = new Set<string>()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin)
    })
    await page.goto(url)
    return { page, complaints, origins }
  }

  /** Polled from here: the page's policy forbids a script that polls. */
  const becomes = (page: Page, script: string): Promise<void> =>
    expect.poll(() => page.evaluate(script), { timeout: 15_000, interval: 20 }).toBe(true)

  const isLive = (page: Page): Promise<unknown> => page.waitForSelector('#live[data-state=on]')

  /** Boots a gateway with two endpoints for risk, and one of them for each other group. */
  const bootTwo = async (settings: Settings = {}) => {
    const upstreams = [await httpUpstream(), await httpUpstream()]
    const endpoints = upstreams.map(({ url }) => url)
    const same = { upstream: endpoints[1], upstreams: { risk: { endpoints, balance: 'round-robin' } } }
    return { ...(await bootLiveGateway({ ...same, ...settings })), upstreams, same }
  }

  /** Stops the first endpoint of risk, and sends requests until the gateway knows. */
  const endRisk = async ({ url, upstreams }: Awaited<ReturnType<typeof bootTwo>>): Promise<void> => {
    await upstreams[0]?.close()
    for (let i = 0; i < 12; i++) await (await fetch(`${url}/risk/asset-valuation`, { method: 'POST' })).arrayBuffer()
  }

  const requestAll = (url: string): Promise<unknown> =>
    Promise.all(
      [...allOperations, { method: 'GET', path: '/none/of/them' }].map(async ({ method, path }) =>
        (await fetch(url + path, { method })).arrayBuffer(),
      ),
    )

  /** A gateway with traffic, recent errors, a drained endpoint and a rejected reload. */
  const fillPage = async ({ admin, url, upstreams, edit }: Awaited<ReturnType<typeof bootTwo>>): Promise<void> => {
    await requestAll(url)
    edit('upstreams: 1\n')
    const order = (path: string, body: object) => fetchAdmin(admin + path, 'POST', { body: JSON.stringify(body) })
    await order('/reload', {})
    await order('/endpoints/drain', { group: 'risk', url: upstreams[0]?.url })
    await order('/operations/reject', { operation: 'inventory.sync' })
    await fetch(`${url}/inventory/sync`, { method: 'POST' })
  }

  test('an endpoint that dies shows with its cause in words', async () => {
    const gateway = await bootTwo()
    const { upstreams } = gateway
    const { page } = await visit(gateway.admin)
    await isLive(page)
    const quiet = await page.textContent('#findings')

    await endRisk(gateway)
    await becomes(page, `document.title.includes('wrong')`)

    expect(quiet).toContain('Nothing is wrong.')
    expect(await page.textContent('#findings')).toMatch(new RegExp(`${upstreams[0]?.url}.*ECONNREFUSED`))
    expect(await page.textContent('#announced')).toMatch(/ECONNREFUSED/)
  })

  test('it loads nothing from elsewhere, breaks no policy, draws a chart for each operation, and fits every screen', async () => {
    const gateway = await bootTwo()
    await fillPage(gateway)
    const { page, complaints, origins } = await visit(gateway.admin)
    await isLive(page)
    await becomes(page, 'document.querySelectorAll(".chart canvas").length === 20')

    expect(complaints).toEqual([])
    expect([...origins]).toEqual([gateway.admin])
    const tooWide = '[...document.querySelectorAll("main section")].some((each) => each.scrollWidth > each.clientWidth)'
    for (const width of [1280, 1201, 1200, 900, 600, 390, 360]) {
      await page.setViewportSize({ width, height: 800 })
      // The charts follow the window by a script. A table that is a little too wide fits until its numbers are longer.
      await becomes(page, `document.documentElement.scrollWidth <= ${width}`)
      await becomes(page, `!${tooWide}`)
    }
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }) // what fades in has no contrast yet
      await page.setViewportSize({ width, height: 800 })
      expect([colorScheme, width, await findGraveViolations(page)]).toEqual([colorScheme, width, []])
    }
  }, 120_000)

  test('a tap copies the next command, an opened group stays open, and problems only leaves the problems', async () => {
    const gateway = await bootTwo()
    const { admin } = gateway
    await requestAll(gateway.url)
    await endRisk(gateway)
    const { page, complaints } = await visit(admin, {
      viewport: { width: 390, height: 844 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await isLive(page)
    await page.waitForSelector('#findings .command')
    const { body } = await fetchAdmin(`${admin}/status`)
    const visible = (selectors: readonly string[]) =>
      Promise.all(selectors.map((selector) => page.locator(selector).isVisible()))

    // The button says so for two seconds, or until the next tick: a busy browser may be asked too late.
    await page.evaluate(
      `new MutationObserver((changes) => {
        globalThis.said ??= changes.find(({ target }) => target.data === 'Copied')?.target.data
      }).observe(document.body, { characterData: true, subtree: true })`,
    )
    await page.click('#findings .command code')
    await expect.poll(() => page.evaluate('globalThis.said')).toBe('Copied')
    const copied = await page.evaluate('navigator.clipboard.readText()')
    const folded = await visible(['#endpoint-market-0', '#endpoint-risk-0'])
    await page.check('#unfold-market')
    const then = await page.textContent('#live')
    await expect.poll(() => page.textContent('#live')).not.toBe(then)
    const opened = await visible(['#endpoint-market-0'])
    await page.check('#problems-only')
    const rows = ['#findings', '#endpoint-risk-0', '#operation-market\\.insights', '#limits']
    const problems = await visible(rows)
    await page.reload()
    await isLive(page)

    expect((body.findings as unknown as { command: string }[]).map(({ command }) => command)).toContain(copied)
    expect([folded, opened, problems]).toEqual([[false, true], [true], [true, true, false, false]])
    expect(await page.isChecked('#problems-only')).toBe(true)
    expect(complaints).toEqual([])
  })

  test('without a script there are plain tables, and a way to load them again', async () => {
    const gateway = await bootTwo()
    await fillPage(gateway)
    const { page } = await visit(gateway.admin, { javaScriptEnabled: false })

    const text = ((await page.textContent('body')) ?? '').replaceAll(/\s+/g, ' ')

    expect(await page.locator('table caption').count()).toBeGreaterThanOrEqual(4)
    expect(await page.locator('#upstreams-table tbody tr:not(.group)').count()).toBe(groups.length + 1)
    const said = ['Without JavaScript the page stays as it was', 'draining', 'gateway.yaml:1:']
    for (const words of [...said, ...allOperations.map(({ id }) => id)]) expect(text).toContain(words)
    await page.click('.note a')
    expect(await page.locator('h1').count()).toBe(1)
  })

  test('by keyboard an operator gets past the head, and to every action', async () => {
    const { admin } = await bootTwo()
    const { page } = await visit(admin)
    await isLive(page)
    const actions = await page.locator('a.action').evaluateAll((links) => links.map(({ id }) => id))
    const focused = () => page.evaluate('document.activeElement.id || document.activeElement.className')

    await page.keyboard.press('Tab')
    const first = await focused()
    const reached: unknown[] = []
    while (reached.length < actions.length + 30 && reached.at(-1) !== actions.at(-1)) {
      await page.keyboard.press('Tab')
      reached.push(await focused())
    }

    expect(first).toBe('skip')
    expect(actions.length).toBeGreaterThanOrEqual(1 + allOperations.length + groups.length + 1)
    expect(reached.filter((each) => actions.includes(String(each)))).toEqual(actions)
  })

  test('what is focused, selected and opened stays so while everything around it changes', async () => {
    const gateway = await bootTwo()
    const changes = Object.fromEntries(allOperations.map(({ id }) => [id, { deadline: '7s' }]))
    gateway.edit({ ...gateway.same, operations: changes })
    await fetch(`${gateway.admin}/reload`, { method: 'POST' })
    const { page } = await visit(gateway.admin)
    await isLive(page)
    await page.click('#reloads details summary')
    await page.evaluate(`
      getSelection().selectAllChildren(document.querySelector('#operations-table tbody th b'))
      document.querySelector('#upstreams a.action').focus()`)
    const before = await page.evaluate('[document.activeElement.id, getSelection().toString()]')

    await fillPage(gateway)
    await becomes(page, `document.getElementById('upstreams').textContent.includes('draining')`)
    await becomes(page, `document.querySelectorAll('#reloads-table tbody tr').length === 2`)
    const after = await page.evaluate('[document.activeElement.id, getSelection().toString()]')

    expect(after).toEqual(before)
    expect(after).toEqual([expect.stringMatching(/^do-drain-/), 'valuation.score'])
    expect(await page.locator('#reloads details').getAttribute('open')).not.toBeNull()
  })

  test('when the gateway goes the page says since when it is stale, and goes on when there is one again', async () => {
    const admin = { port: await freePort() }
    const first = await bootLiveGateway({ admin })
    const { page } = await visit(first.admin)
    await isLive(page)

    await first.gateway.close()
    await page.waitForSelector('#live[data-state=stale]')
    const said = [await page.textContent('#live'), await page.textContent('#announced')]
    await bootLiveGateway({ admin })
    await isLive(page)

    expect(said).toEqual(Array(2).fill(expect.stringMatching(/^stale since \d\d:\d\d:\d\d UTC: the gateway/)))
  })

  test('a page that is one too many says so in the words of the gateway, and goes on when there is room', async () => {
    const { admin } = await bootLiveGateway()
    const others = await Promise.all(Array.from({ length: maxStreams }, () => fetch(`${admin}/events`)))
    const { page } = await visit(admin)

    await page.waitForSelector('#live[data-state=stale]')
    const stale = await page.textContent('#live')
    await Promise.all(others.map(({ body }) => body?.cancel())) // fetch ends those whose responses are collected
    await isLive(page)

    expect(stale).toMatch(/^stale since \d\d:\d\d:\d\d UTC: 16 pages are live already/)
  })

  test('a hidden tab is not kept up to date, and is again when it is seen', async () => {
    const { admin } = await bootLiveGateway()
    const { page } = await visit(admin)
    await isLive(page)
    const hide = (hidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)
    const streams = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/events')).length`

    await hide(true)
    await becomes(page, `${streams} === 1`) // an entry is made when it has ended
    const then = await page.textContent('#live')
    await hide(false)
    await expect.poll(() => page.textContent('#live')).not.toBe(then)

    expect(await page.getAttribute('#live', 'data-state')).toBe('on')
  })

  test('a page of another version of the gateway says that it is to be loaded again', async () => {
    const { admin } = await bootLiveGateway()
    const { page } = await visit('about:blank')
    await page.route(`${admin}/`, async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replaceAll(/\/assets\/\w+/g, '/assets/0123456789abcdef')
      await route.fulfill({ response, body })
    })

    await page.goto(admin)
    await isLive(page)

    expect(await page.textContent('#live')).toMatch(/^live, .* of another version now: load it again$/)
  })

  test('an operator sees what was done, and when the session is over', async () => {
    const gateway = await bootTwo({ admin: { token: 'a-token-of-an-operator' } })
    const { page, complaints } = await visit(gateway.admin)
    await page.fill('input[name=token]', 'a-token-of-an-operator')
    await page.click('button[type=submit]')
    await isLive(page)

    await page.click('#upstreams a[id^=do-drain-risk] >> nth=0')
    await page.click('main button[type=submit]')
    await isLive(page)
    const note = await page.textContent('.note[role=status]')
    gateway.edit({ ...gateway.same, admin: { token: 'another-token-of-them' } })
    await gateway.gateway.reload('request')
    await page.waitForSelector('#live[data-state=over] a[href="/login"]')

    expect(note).toMatch(/gets no new requests/)
    for (const place of ['#live', '#announced']) expect(await page.textContent(place)).toContain('your session is over')
    expect(complaints).toEqual([])
  })
})
