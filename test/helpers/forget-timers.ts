/** Runs before each file of tests: what waits for a timer that a test has replaced is forgotten by the next one. */
import { afterAll, afterEach, vi } from 'vitest'
import { forgetTimers } from '../../src/core/lib/clock.ts'
import { forgetWrites } from '../../src/core/lib/turn-writes.ts'

const forget = (): void => {
  forgetTimers()
  forgetWrites()
}

// Beside a concurrent test others run, whose timers are not its own.
afterEach(({ task }) => {
  if (task.concurrent !== true) forget()
})

afterAll(() => {
  vi.useRealTimers()
  forget()
})
