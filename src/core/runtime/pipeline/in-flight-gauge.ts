import type { Layer } from '../../exchange/exchange.ts'

/** Counts the exchanges of an operation in flight, from here to the last byte of the response. It limits nothing. */
export const inFlightGaugeLayer = (gauge: { inFlight: number }): Layer => {
  const release = (): void => {
    gauge.inFlight--
  }
  return (next) => (exchange) => {
    gauge.inFlight++
    exchange.onFinished(release)
    return next(exchange)
  }
}
