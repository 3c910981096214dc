/** Has axe look at a page in a browser. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** A rule that is broken, and the first elements that break it. */
type Violation = readonly [rule: string, elements: readonly string[]]

/** Lists all that axe finds. */
export const findViolations = (page: Page): Promise<readonly Violation[]> => look(page, 'true')

/** Lists what keeps people from using the page, or from telling its parts apart. */
export const findGraveViolations = (page: Page): Promise<readonly Violation[]> =>
  look(page, `impact === 'serious' || impact === 'critical' || id.startsWith('landmark-')`)

const look = async (page: Page, isMeant: string): Promise<readonly Violation[]> => {
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe.source)
  return (await page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations
      .filter(({ id, impact }) => ${isMeant})
      .map(({ id, nodes }) => [id, nodes.map(({ html }) => html).slice(0, 3)])
  })()`)) as readonly Violation[]
}
