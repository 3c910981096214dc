import type { Layer } from '../exchange.ts'

/** Counts the exchanges of an operation that are in flight, from here to the last byte of the answer; bounds nothing. */
export const inFlight = (count: { inFlight: number }): Layer => {
  const leave = (): void => {
    count.inFlight--
  }
  return (next) => (exchange) => {
    count.inFlight++
    exchange.whenOver(leave)
    return next(exchange)
  }
}
