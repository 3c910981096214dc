import { now } from '../../clock.ts'

// As for requests that are given up: twice what a client has under way at most, then 33 a second.
const burst = 200
const perMs = 33 / 1000

/** Counts what costs the gateway more than the client; tells of each whether it is still one of those that a client may send. */
export const allowance = (): (() => boolean) => {
  let left = burst
  let at = now()
  return () => {
    const time = now()
    left = Math.min(burst, left + (time - at) * perMs) - 1
    at = time
    return left >= 0
  }
}
