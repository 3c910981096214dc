import { now } from '../clock.ts'
import type { Exchange, Layer } from '../exchange.ts'

/**
 * Tells clients how long it took until the answer's head (Server Timing §2): in the gateway, and at the upstream from the start of the last
 * attempt, as the access log does. No name of anything behind it. Outermost, so that all that made them wait is counted, and what the
 * gateway itself answers says so as well.
 */
export const serverTiming: Layer = (next) => (exchange) => {
  const startedAt = now()
  return next(exchange).then(
    (answer) => {
      tell(exchange, startedAt)
      return answer
    },
    (error) => {
      tell(exchange, startedAt)
      throw error
    },
  )
}

const tell = (exchange: Exchange, startedAt: number): void => {
  const { attempt } = exchange
  const at = now()
  const upstreamMs = attempt === null ? null : (attempt.endedAt ?? at) - attempt.startedAt
  const gateway = `gateway;dur=${tenths(at - startedAt - (upstreamMs ?? 0))}`
  exchange.answerFields ??= []
  exchange.answerFields.push(
    'Server-Timing',
    upstreamMs === null ? gateway : `${gateway}, upstream;dur=${tenths(upstreamMs)}`,
  )
}

const tenths = (ms: number): string => (Math.round(Math.max(0, ms) * 10) / 10).toString()
