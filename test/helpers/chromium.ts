import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { needProgram } from './program.ts'

/** Debian's chromium, without a window. */
export const chromiumProgram = await needProgram('chromium-headless-shell')

/** Starts it for the tests of a suite. Returns what opens a tab that forgets all when the test has finished. */
export const useChromium = (...args: readonly string[]): ((options?: BrowserContextOptions) => Promise<Page>) => {
  let browser: Browser
  beforeAll(async () => {
    // As root, which runs the tests in a container, chromium has no sandbox of its own.
    const executablePath = chromiumProgram.path ?? ''
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...args] })
  })
  afterAll(() => browser.close())
  return async (options) => {
    const context = await browser.newContext(options)
    onTestFinished(() => context.close())
    return context.newPage()
  }
}
