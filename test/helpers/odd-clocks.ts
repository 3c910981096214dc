import { onTestFinished, vi } from 'vitest'

/**
 * Makes the monotonic clock of this process go a hundred times as fast, until it is slowed down or the test has
 * finished: every turn of the event loop is late then, on every machine. Returns what slows it down.
 */
export const hurryClock = (): (() => void) => {
  const [read, begun] = [performance.now.bind(performance), performance.now()]
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => begun + (read() - begun) * 100)
  onTestFinished(() => clock.mockRestore())
  return () => {
    const ahead = performance.now() - read()
    clock.mockImplementation(() => read() + ahead)
  }
}

/** Stops the monotonic clock of this process until the test has finished: no timeout of the gateway's passes. */
export const stopClock = (): void => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
}

/** Stops a clock of this process until the test has finished; no timer is. Returns what moves the clock on. */
export const moveClock = (clock: Pick<DateConstructor, 'now'>, at: number = clock.now()) => {
  let reading = at
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => reading)
  onTestFinished(() => spy.mockRestore())
  return (ms: number): void => {
    reading += ms
  }
}
