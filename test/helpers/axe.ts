/** Has axe look at a page in a browser. */
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

// Run in the page itself: AxeBuilder opens a second page for each report, which takes most of its time.
const fromPlaywright = createRequire(createRequire(import.meta.url).resolve('@axe-core/playwright'))
const { source } = fromPlaywright('axe-core') as { readonly source: string }

/**
 * Lists what axe finds that keeps people from using the page, or from telling its parts apart: the rule, and the first
 * elements.
 */
export const findGraveViolations = async (page: Page): Promise<readonly unknown[]> => {
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(source)
  return (await page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations
      .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || id.startsWith('landmark-'))
      .map(({ id, nodes }) => [id, nodes.map(({ html }) => html).slice(0, 3)])
  })()`)) as readonly unknown[]
}
