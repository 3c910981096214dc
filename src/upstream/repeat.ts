import { Alarm } from '../clock.ts'

// Many endpoints, and many gateways, must not ask or be asked all at once.
const jitter = 0.1

/**
 * Acts again and again: first after `firstMs`, 0: at once. `act` resolves to what concludes it, which tells the pause
 * before the next in milliseconds, spread by ±10 %. Returns what stops it; an act that is under way then is not
 * concluded.
 */
export const repeat = (
  act: () => Promise<() => number>,
  firstMs: number,
  random: () => number = Math.random,
): (() => void) => {
  let isStopped = false
  const turn = async (): Promise<void> => {
    const conclude = await act()
    if (!isStopped) alarm.set(Math.round(conclude() * (1 - jitter + 2 * jitter * random())))
  }
  const alarm = new Alarm(() => void turn())
  if (firstMs === 0) void turn()
  else alarm.set(firstMs)
  return () => {
    isStopped = true
    alarm.clear()
  }
}
