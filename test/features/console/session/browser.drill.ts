/**
 * Logging in, acting and logging out in a real browser, with scripts and without; and what a foreign page can do there.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { adminTokens, tokenOf } from '../../../helpers/admin-tokens.ts'
import { findViolations } from '../../../helpers/axe.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { chromiumProgram, useChromium } from '../../../helpers/chromium.ts'
import { token } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { simulateRemoteConnections } from '../../../helpers/remote-connections.ts'

const openssl = await needProgram('openssl')

describe.skipIf(chromiumProgram.missing ?? openssl.missing)('in chromium', { timeout: 60_000 }, () => {
  const openPage = useChromium('--host-resolver-rules=MAP gateway.test 127.0.0.1')

  /** Opens a tab; records errors and requests to other origins. */
  const openTab = async (live: LiveGateway, options: BrowserContextOptions = {}) => {
    const page = await openPage(options)
    const complaints: string[] = []
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
    page.on('pageerror', (error) => void complaints.push(error.message))
    page.on('request', (request) => {
      if (new URL(request.url()).port !== new URL(live.admin).port) complaints.push(`asks ${request.url()}`)
    })
    return { context: page.context(), page, complaints }
  }

  const logIn = async (page: Page, at: string, given = token): Promise<void> => {
    await page.goto(at)
    await page.getByLabel('Token of the operators').fill(given)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL(`${at}/`)
  }

  test.each([
    ['with scripts', true],
    ['without', false],
  ])('an operator logs in, rejects an operation, reads that it is, and logs out: %s', async (_, javaScriptEnabled) => {
    const live = await bootLiveGateway({ admin: { token } })
    const { page, complaints } = await openTab(live, { javaScriptEnabled })

    await logIn(page, live.admin)
    await page.locator('a[href="/actions/reject?operation=market.insights"]').click()
    await page.getByRole('link', { name: '1 hour' }).click()
    expect(await page.textContent('main')).toContain('Every client of GET /market/insights gets 503 for 1 hour')
    await page.getByRole('button', { name: 'Reject it' }).click()

    await page.waitForURL(`${live.admin}/`)
    expect(await page.textContent('[role=status]')).toMatch(/^market\.insights is rejected until 20/)
    expect((await fetch(`${live.url}/market/insights`)).status).toBe(503)
    await page.reload()
    expect(await page.locator('[role=status]', { hasText: 'is rejected until' }).count()).toBe(0)
    expect(await page.textContent('#commands')).toMatch(/admin\.token: market\.insights is rejected until/)

    await page.getByRole('button', { name: 'Log out' }).click()
    await page.waitForURL(`${live.admin}/login`)
    await page.goto(live.admin)
    expect(page.url()).toBe(`${live.admin}/login`)
    expect(complaints).toEqual([])
  })

  test.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    'an operator who may only read sees all and no links to orders, at %i px, %s',
    async (width, colorScheme) => {
      const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
      const { page, complaints } = await openTab(live, { colorScheme, viewport: { width, height: 800 } })
      const actions = page.locator('a[href^="/actions/"]:visible')

      await logIn(page, live.admin, tokenOf.read)
      await expect.poll(() => page.textContent('#live')).toContain('live')
      const shown = await actions.count()
      const header = await page.textContent('header')
      const violations = await findViolations(page)
      const scrollWidth = await page.evaluate('document.documentElement.scrollWidth')
      await page.goto(`${live.admin}/actions/reload`)

      expect([shown, scrollWidth]).toEqual([0, width])
      expect(header).toMatch(/auditor, may read and send no commands/)
      expect(violations).toEqual([])
      expect(await page.textContent('[role=alert]')).toMatch(/^Auditor has the scope read/)
      expect(complaints.filter((each) => !each.includes('403'))).toEqual([])
      await page.getByRole('link', { name: 'To the overview' }).click()
      await page.getByRole('button', { name: 'Log out' }).click()
      await logIn(page, live.admin, tokenOf.operate)
      expect(await actions.count()).toBeGreaterThan(10)
    },
  )

  test.each([
    ['http:', '127.0.0.1'],
    ['http:', 'localhost'],
    ['https:', '127.0.0.1'],
  ])('the cookie is taken at %s//%s, and no script can read it', async (scheme, host) => {
    const { cert: certificate, key } = makeCertificates(openssl.path ?? '').right
    const overTls = { host: '0.0.0.0', tls: { certificate, key } }
    const live = await bootLiveGateway({ admin: { token, ...(scheme === 'https:' && overTls) } })
    const { port } = new URL(live.admin)
    const { page, context } = await openTab(live, { ignoreHTTPSErrors: true })

    await logIn(page, `${scheme}//${host}:${port}`)

    const attributes = { secure: true, httpOnly: true, sameSite: 'Strict' }
    expect(await context.cookies()).toMatchObject([
      { name: `__Host-lender-gateway-${port}`, domain: host, path: '/', ...attributes },
    ])
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('a wrong token is said to be one, and so is a cookie that is not taken, by a name without TLS', async () => {
    const live = await bootLiveGateway({ admin: { token, hosts: ['gateway.test'] } })
    const { page, context } = await openTab(live)

    const field = page.getByLabel('Token of the operators')
    await page.goto(`${live.admin.replace('127.0.0.1', 'gateway.test')}/login`)
    await field.fill('a-wrong-token')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.textContent('[role=alert]')).toBe('No operator has this token.')
    expect(await field.inputValue()).toBe('')
    await field.fill(token)
    await page.keyboard.press('Enter')

    await expect.poll(() => page.textContent('[role=alert]')).toMatch(/did not store the cookie .* https/)
    expect(await context.cookies()).toEqual([])
  })

  test.each([
    ['/login', {}, 'this machine'],
    ['/login', { host: '0.0.0.0', insecure: true }, 'the network'],
    ['/actions/reject?operation=market.insights', { token: undefined }, 'this machine'],
    ['/actions/rollback', { token: undefined }, 'this machine'],
  ])('axe finds nothing wrong with %s, %j, from %s, on a light screen and a dark phone', async (path, admin, from) => {
    if (from === 'the network') simulateRemoteConnections()
    const live = await bootLiveGateway({ admin: { token, ...admin } })
    const { page } = await openTab(live, { reducedMotion: 'reduce' }) // what fades in has no contrast yet
    await page.goto(live.admin + path)

    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      const violations = await findViolations(page)
      expect([colorScheme, violations]).toEqual([colorScheme, []])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
  })

  test('a rejected edit is read on a phone, each problem with its place', async () => {
    const live = await bootLiveGateway()
    const { page } = await openTab(live, { viewport: { width: 360, height: 800 } })
    live.edit('upstreams:\n  risc: sandbox\n')

    await page.goto(`${live.admin}/actions/reload`)
    await page.getByRole('button', { name: 'Reload' }).click()

    await expect.poll(() => page.textContent('h1')).toBe('Rejected')
    expect((await page.locator('pre').allTextContents()).join()).toContain(
      `${live.file}:2:3 upstreams.risc: unknown key`,
    )
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    expect(await findViolations(page)).toEqual([])
  })

  // The hardest attack: the same site to the browser, since a port makes no difference, so that the cookie goes along.
  test('a page at another port of the same host runs no command, by a form or a script, though the cookie goes along', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const { page } = await openTab(live)
    const attacker = await serve(`<form method="post" action="${live.admin}/actions/reject">
<input name="operation" value="market.insights"><button>Win a prize</button></form><a href="${live.admin}/">A link</a>`)
    await logIn(page, live.admin)

    await page.goto(attacker)
    await page.evaluate(
      `Promise.allSettled(['/reload', '/rollback', '/actions/reload', '/logout'].map((path) =>
        fetch('${live.admin}' + path, { method: 'POST', mode: 'no-cors', credentials: 'include' })))`,
    )
    await page.getByRole('button').click()
    await page.waitForURL(`${live.admin}/actions/reject`)
    const rejected = await page.textContent('[role=alert]')
    await page.goto(attacker)
    await page.getByRole('link').click()
    await page.waitForURL(`${live.admin}/`)
    const linked = await page.textContent('[role=alert]')
    await page.getByRole('link', { name: 'To the overview' }).click()

    expect(rejected).toBe('A web page of another origin may not use the operator’s listener.')
    expect(linked).toBe(rejected)
    await expect.poll(() => page.locator('#operations').count()).toBe(1) // still logged in
    const commands = live.lines.filter(({ msg }) => msg === 'admin request')
    expect(commands.map(({ url, status }) => `${url} ${status}`).sort()).toEqual([
      '/actions/reject 403',
      '/actions/reload 403',
      '/login 303',
      '/logout 403',
      '/reload 403',
      '/rollback 403',
    ])
    // What came with the cookie is logged with its session.
    expect(commands.filter(({ session }) => session === undefined).map(({ url }) => url)).toEqual(['/login'])
  })

  const serve = async (body: string): Promise<string> => {
    const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }
})
