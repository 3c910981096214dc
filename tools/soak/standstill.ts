/**
 * Notices when the machine does not let this process run: its endpoints then do not respond, however sound they are.
 */
import type { Disturbances } from './disturbances.ts'
import type { Ongoing } from './traffic.ts'

const everyMs = 100

// Shorter ones leave every timeout of the configuration time enough.
const longMs = 1000

// Requests pile up meanwhile.
const aftermathMs = 3000

/** Reports each standstill as what explains a timeout. */
export const watchStandstill = (disturbances: Disturbances): Ongoing => {
  let last = performance.now()
  const timer = setInterval(() => {
    const before = last
    last = performance.now()
    if (last - before < longMs) return
    disturbances.begin('a standstill', 'all', ['504 headers-timeout', '504 connect-timeout'], aftermathMs, before)()
  }, everyMs)
  return { stop: async () => clearInterval(timer) }
}
