import { Alarm } from '../clock.ts'

// Many endpoints, and many gateways, must not ask or be asked all at once.
const jitter = 0.1

/**
 * Acts again and again: first after `firstMs`, 0: at once, then after the pause in milliseconds, ±10 %, that the end of each act tells. Returns what
 * closes it: an act that is under way then does not end any more.
 */
export const repeat = (
  act: () => Promise<() => number>,
  firstMs: number,
  random: () => number = Math.random,
): (() => void) => {
  let isClosed = false
  const turn = async (): Promise<void> => {
    const end = await act()
    if (!isClosed) alarm.set(Math.round(end() * (1 - jitter + 2 * jitter * random())))
  }
  const alarm = new Alarm(() => void turn())
  if (firstMs === 0) void turn()
  else alarm.set(firstMs)
  return () => {
    isClosed = true
    alarm.clear()
  }
}
