/**
 * The page with each of the twelve faults, as an operator on call sees it after the login. `SCREENSHOTS=FOLDER` takes
 * pictures of the first screen, `fault-N.png` in an order that tells nothing, and writes which is which to
 * `FOLDER-key.json`. `FAULTS=all` has axe look at each of them in four ways: light and dark, on a
 * screen and on a phone. Otherwise these take turns.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { findGraveViolations } from '../../../helpers/axe.ts'
import { installProgram } from '../../../helpers/installed-program.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { causeOf, type Fault, faults, faultToken } from './plant.ts'

const { FAULTS, SCREENSHOTS } = process.env
const program = await needProgram('chromium-headless-shell')
const others = { openssl: await needProgram('openssl'), 'redis-server': await needProgram('redis-server') }

const looks = [
  ['light', 1280, 900],
  ['dark', 390, 844],
  ['dark', 1280, 900],
  ['light', 390, 844],
] as const

describe.skipIf(program.missing)('the page', () => {
  let browser: Browser
  // Commands are printed as an operator reads them.
  const folder = mkdtempSync(join(tmpdir(), 'program-'))
  const { PATH } = process.env
  beforeAll(async () => {
    process.env.PATH = installProgram(folder)
    browser = await chromium.launch({ executablePath: program.path ?? '', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    process.env.PATH = PATH
    rmSync(folder, { recursive: true })
    await browser.close()
  })

  /** Opens the page of a gateway as an operator does: by the login. */
  const logIn = async (admin: string): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(admin)
    await page.fill('input[name=token]', faultToken)
    await page.click('button[type=submit]')
    await page.waitForSelector('#live[data-state=on]')
    return page
  }

  /** Lists what is green in some elements of the page, and those of them that are not there. */
  const greenIn = async (page: Page, selectors: readonly string[]): Promise<readonly unknown[]> =>
    (await page.evaluate(`${JSON.stringify(selectors)}.flatMap((selector) => {
      const found = [...document.querySelectorAll(selector)]
      if (found.length === 0) return [selector + ' is not there']
      return found.flatMap((each) => [...each.querySelectorAll('.mark.good')].map((mark) => selector + ': ' + mark.textContent))
    })`)) as readonly unknown[]

  const order = new Map(
    faults
      .map(({ number }) => [number, Math.random()] as const)
      .sort(([, a], [, b]) => a - b)
      .map(([number], at) => [number, at + 1]),
  )

  const photograph = async (page: Page, { number, name }: Fault): Promise<void> => {
    if (SCREENSHOTS === undefined) return
    mkdirSync(SCREENSHOTS, { recursive: true })
    const place = order.get(number)
    for (const [width, height, suffix] of [
      [1280, 900, ''],
      [390, 844, '-phone'],
    ] as const) {
      await page.setViewportSize({ width, height })
      await page.screenshot({ path: join(SCREENSHOTS, `fault-${place}${suffix}.png`) })
    }
    key[`fault-${place}.png`] = `${number}: ${name}`
    writeFileSync(`${SCREENSHOTS}-key.json`, JSON.stringify(key, null, 2))
  }
  const key: Record<string, string> = {}

  for (const [at, fault] of faults.entries()) {
    const needed = fault.needs === undefined ? null : others[fault.needs]
    const isSkipped = fault.isImpossible === true || (needed !== null && needed.missing !== null)
    test.skipIf(isSkipped)(
      `with ${fault.name} shows nothing green where nothing works, and axe finds nothing`,
      async () => {
        const { admin } = await fault.plant(needed?.path ?? '')
        const page = await logIn(admin)
        await expect.poll(() => page.textContent('#findings')).toMatch(causeOf(fault))
        const screens = await page.evaluate(
          `[...document.querySelectorAll('#findings .cause')][0].getBoundingClientRect().bottom / innerHeight`,
        )
        const green = await greenIn(page, fault.broken)
        await photograph(page, fault)

        for (const [colorScheme, width, height] of FAULTS === 'all' ? looks : looks.slice(at % 4, (at % 4) + 1)) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height })
          expect([colorScheme, width, await findGraveViolations(page)]).toEqual([colorScheme, width, []])
        }
        expect(green).toEqual([])
        expect(screens).toBeLessThan(1)
      },
    )
  }

  test('is at most three screens of a phone when all is well', async () => {
    const [one, other] = [await httpUpstream(), await httpUpstream()]
    const upstream = { endpoints: [one.url, other.url] }
    const instance = { name: 'gateway-eu-1', environment: 'production', colour: 'red' }
    const live = await bootLiveGateway({ upstream, instance, admin: { token: faultToken } })
    await fetch(`${live.url}/market/insights`)
    const page = await logIn(live.admin)
    await page.setViewportSize({ width: 390, height: 844 })

    const height = Number(await page.evaluate('document.documentElement.scrollHeight'))

    console.log(`when all is well the page is ${height} px high on a phone`)
    if (SCREENSHOTS !== undefined) await page.screenshot({ path: join(SCREENSHOTS, 'well-phone.png'), fullPage: true })
    expect(height).toBeLessThanOrEqual(2600)
  })
})
