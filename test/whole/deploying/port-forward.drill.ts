/** The page of a pod that runs the manifests as they stand, in a real browser at the end of `kubectl port-forward`. */
import { chromium } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { portForward } from '../../helpers/port-forward.ts'
import { needProgram } from '../../helpers/program.ts'
import { tokenBeside } from './configurations.ts'
import { startPod } from './pod.ts'

const found = await needProgram('chromium-headless-shell')

describe.skipIf(found.missing)('by port-forward', () => {
  test('an operator logs in with the token of the Secret, and reads how the pod stands', async () => {
    const { adminPort } = await startPod()
    const port = await portForward(adminPort)
    // As root, as which a container runs tests, chromium has no sandbox.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
    const browser = await chromium.launch({ executablePath: found.path ?? '', args })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()

    await page.goto(`http://localhost:${port}/`)
    await page.getByLabel('Token of the operators').fill(tokenBeside)
    await page.getByRole('button', { name: 'Log in' }).click()

    await page.waitForURL(`http://localhost:${port}/`)
    expect(await page.locator('#operations').count()).toBe(1)
    expect(await page.textContent('body')).toContain('http://market.lending.svc:8080')
  })
})
