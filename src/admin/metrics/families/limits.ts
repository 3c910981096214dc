import type { Kind } from '../../../failures/kinds.ts'
import { reasonsOf } from '../../../failures/reasons.ts'
import { counted, counter, gauge, type Metric } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Says how near the gateway is to its bounds, and what they cost. */
export const limits: readonly Metric[] = [
  gauge('concurrency_in_flight', 'Requests that a bound of concurrency counts just now.', ['limit'], ({ report }) =>
    report.limits.concurrency.map(({ key, inFlight }) => [key, inFlight]),
  ),
  gauge('concurrency_limit', 'How many requests a bound of concurrency lets in at once.', ['limit'], ({ report }) =>
    report.limits.concurrency.map(({ key, limit }) => [key, limit]),
  ),
  counter('sheds_total', 'Requests that found no room (503), by the bound that was full.', ['reason'], (reading) =>
    ofKinds(reading, ['overloaded']),
  ),
  counter(
    'rate_limited_total',
    'Requests of an address or a client beyond what it may (429), by the bound that was used up.',
    ['reason'],
    (reading) => ofKinds(reading, ['rate-limited']),
  ),
  counter(
    'rejections_total',
    'Requests that were malformed, too large or too slow, or that an operator had refused, by what was wrong.',
    ['reason'],
    (reading) => ofKinds(reading, rejected),
  ),
  gauge(
    'rate_limits_shared',
    'Whether rates are counted for all gateways (1), or each counts for itself until Redis is back (0); with limits.redis only.',
    [],
    ({ report }) => {
      const { rate } = report.limits
      return rate?.store === 'redis' ? [[rate.state === 'shared' ? 1 : 0]] : []
    },
  ),
  counter(
    'rate_keys_forgotten_total',
    'Keys whose count was forgotten before its time, for want of room.',
    [],
    ({ report }) => (report.limits.rate === null ? [] : [[report.limits.rate.evictions]]),
  ),
  gauge(
    'load_shedding',
    'Whether new requests are refused because the event loop is late (1), in one worker at least.',
    [],
    ({ report }) => (report.limits.eventLoop === null ? [] : [[report.limits.eventLoop.sheds ? 1 : 0]]),
  ),
  gauge(
    'load_shedding_limit_seconds',
    'From what delay of the event loop on new requests are refused.',
    [],
    ({ report }) => (report.limits.eventLoop === null ? [] : [[report.limits.eventLoop.limitMs / 1000]]),
  ),
]

const rejected: readonly Kind[] = [
  'bad-request',
  'header-too-large',
  'request-timeout',
  'client-gone',
  'content-too-large',
  'refused-by-operator',
]

const ofKinds = ({ meter }: Reading, kinds: readonly Kind[]) => {
  const all = Object.values(meter.operations).flatMap(({ reasons }) => reasons)
  return counted(
    reasonsOf(...kinds),
    all.filter(({ failure }) => kinds.includes(failure)),
  )
}
