import type { UpstreamConfig } from '../../config/config.ts'
import { type AttemptReport, lastFailurePhrase } from '../../exchange/failures/errors.ts'
import { epochMs } from '../../lib/clock.ts'
import { asNullable, asNumber, asText, asWord } from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import { sum } from '../../log/sum-reports.ts'
import type { BreakerState, CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { collectEndpoint, type EndpointReport, earliest, endpointField, latestFailure } from './endpoint.ts'
import * as field from './field.ts'

const breaker = field.record({
  state: field.word<BreakerState>(),
  since: field.time,
  where: field.optionalText,
  /** Null: the breaker is closed in at least one worker, so requests go through. */
  outageSince: field.shownAs(asNullable(asText), formatOptionalTime, (_: number | null, workers) =>
    workers.includes(null) ? null : earliest(workers),
  ),
  lastFailure: field.hidden<AttemptReport | null>((_, workers) => latestFailure(workers)),
  reason: field.derived(asNullable(asText), ({ lastFailure: last }: { readonly lastFailure: AttemptReport | null }) =>
    last === null ? null : lastFailurePhrase(last, last.endpoint),
  ),
  /** Until the first worker tries again. Null: not open. */
  openForMs: field.hidden<number | null>((_, workers) => earliest(workers)),
  nextTry: field.derived(asNullable(asText), ({ openForMs }: { readonly openForMs: number | null }) =>
    openForMs === null ? null : formatTime(epochMs() + openForMs),
  ),
})

const breakerStatesWorstFirst: readonly BreakerState[] = ['open', 'half-open', 'closed']

export const sideMembers = {
  inFlight: field.derived(asNumber, ({ endpoints }: { readonly endpoints: readonly EndpointReport[] }) =>
    sum(endpoints.map((each) => each.inFlight)),
  ),
  balance: field.same(asNullable(asWord<UpstreamConfig['balance']>())),
  breaker: field.nullable(
    field.worst(
      breaker,
      ({ state }, workers) =>
        state === breakerStatesWorstFirst.find((each) => workers.some((worker) => worker.state === each)),
    ),
  ),
  endpoints: field.listOf('url', endpointField),
}

export const sideField = field.record(sideMembers)

export type SideReport = field.Reported<typeof sideField>

export const collectSide = ({ members, balance, breaker }: Upstream): SideReport => ({
  balance,
  breaker: breaker && collectBreaker(breaker),
  endpoints: members.map(collectEndpoint),
})

const collectBreaker = ({
  state,
  since,
  outageSince,
  lastFailure,
  openForMs,
}: Readonly<CircuitBreaker>): field.Reported<typeof breaker> => ({
  state,
  since,
  where: null,
  outageSince,
  lastFailure: state === 'closed' ? null : (lastFailure?.report ?? null),
  openForMs,
})
