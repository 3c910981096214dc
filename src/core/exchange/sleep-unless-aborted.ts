import { CoalescedTimer } from '../lib/clock.ts'
import type { Exchange } from './exchange.ts'

/** Rejects with the reason as soon as the exchange is aborted. */
export const sleepUnlessAborted = (exchange: Exchange, ms: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const alarm = new CoalescedTimer(() => {
      exchange.setAbortListener(null)
      resolve()
    })
    alarm.set(ms)
    exchange.setAbortListener((reason) => {
      alarm.clear()
      exchange.setAbortListener(null)
      reject(reason)
    })
  })
