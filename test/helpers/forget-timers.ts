/** Runs before each file of tests: what waits for a timer that a test has replaced is forgotten by the next one. */
import { afterAll, afterEach, vi } from 'vitest'
import { forgetTimers } from '../../src/core/lib/clock.ts'

// Beside a concurrent test others run, whose timers are not its own.
afterEach(({ task }) => {
  if (task.concurrent !== true) forgetTimers()
})

afterAll(() => {
  vi.useRealTimers()
  forgetTimers()
})
