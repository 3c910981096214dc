/**
 * The page with a fault, as an operator on call sees it after the login. With `FAULTS=all` each of the twelve, at which
 * axe looks in four ways: light and dark, on a screen and on a phone. Otherwise four, each in one of these ways.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { findGraveViolations } from '../../../helpers/axe.ts'
import { chromiumProgram, useChromium } from '../../../helpers/chromium.ts'
import { installProgram } from '../../../helpers/installed-program.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { faults, programFor } from './plant.ts'
import { symptom } from './symptom.ts'

/** The token of operators at each of the gateways. */
const faultToken = 'a-token-of-an-operator'
const common = {
  instance: { name: 'gateway-eu-1', environment: 'production', color: 'red' },
  admin: { token: faultToken },
}

const areAllWanted = process.env.FAULTS === 'all'

const looks = [
  ['light', 1280, 900],
  ['dark', 390, 844],
  ['dark', 1280, 900],
  ['light', 390, 844],
] as const

describe.skipIf(chromiumProgram.missing)('the page', () => {
  const openPage = useChromium()
  // Commands are printed as an operator reads them.
  const { PATH } = process.env
  beforeAll(() => {
    process.env.PATH = installProgram(folderWith({}))
  })
  afterAll(() => {
    process.env.PATH = PATH
  })

  /** Opens the page of a gateway as an operator does: by the login. */
  const logIn = async (admin: string): Promise<Page> => {
    const page = await openPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
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

  const wanted = faults.slice(0, 12).filter((_, at) => areAllWanted || at % 3 === 0)
  for (const [at, fault] of wanted.entries()) {
    const needed = programFor(fault)
    test.skipIf(needed === null)(
      `with ${fault.name} shows nothing green where nothing works, and axe finds nothing`,
      async () => {
        const { admin, fail } = await fault.plant(common, needed ?? '')
        await fail()
        const page = await logIn(admin)
        await expect.poll(() => page.textContent('#findings')).toMatch(symptom(fault.number).cause)
        const screens = await page.evaluate(
          `[...document.querySelectorAll('#findings .cause')][0].getBoundingClientRect().bottom / innerHeight`,
        )
        const green = await greenIn(page, fault.broken)

        for (const [colorScheme, width, height] of areAllWanted ? looks : looks.slice(at, at + 1)) {
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
    const live = await bootLiveGateway({ upstream, ...common })
    await fetch(`${live.url}/market/insights`)
    const page = await logIn(live.admin)
    await page.setViewportSize({ width: 390, height: 844 })

    const height = Number(await page.evaluate('document.documentElement.scrollHeight'))

    expect(height).toBeLessThanOrEqual(2600)
  })
})
