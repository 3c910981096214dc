/** Runs before each file of tests: what waits for a timer that a test has replaced is forgotten by the next one. */
import { afterAll, afterEach, vi } from 'vitest'
import { forgetTimers } from '../../src/core/lib/clock.ts'

const real = setTimeout(() => {}, 0)
clearTimeout(real)

// Beside a concurrent test others run, whose timers are not its own.
afterEach(({ task }) => {
  if (task.concurrent !== true) forgetTimers((timer) => !(timer instanceof real.constructor))
})

afterAll(() => {
  vi.useRealTimers()
  forgetTimers()
})
