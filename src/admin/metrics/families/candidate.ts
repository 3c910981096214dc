import { allOperations, sides } from '../../../operations.ts'
import { isTakenBack } from '../../candidate-clients.ts'
import { addUp, type MetricDefinitions, seriesFor } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

type OfOperation = readonly [string, MetricInputs['requestMetrics']['operations']['none']]

/** Lists the operations whose group has a candidate. */
const sided = ({ config, requestMetrics }: MetricInputs): readonly OfOperation[] =>
  allOperations.flatMap(({ id, group }): readonly OfOperation[] =>
    config.upstreams[group].candidate === null ? [] : [[id, requestMetrics.operations[id]]],
  )

const bySide = seriesFor(['operation', 'side', 'status_class'], (inputs) =>
  sided(inputs).flatMap(([operation, counted]) =>
    sides.flatMap((side) => {
      const expected = [2, 3, 4, 5].map((statusClass) => ({ side, statusClass, count: 0 }))
      const seen = counted.sides.filter((each) => each.side === side)
      return addUp(
        [...expected, ...seen].map(({ statusClass, count }) => [operation, side, `${statusClass}xx`, count] as const),
      )
    }),
  ),
)

const shifted = seriesFor(['group'], ({ overrides }) => overrides.shifts.all)

/** What became of requests by the side of their client. No series for a group without a candidate. */
export const candidateMetrics: MetricDefinitions = {
  side_requests_total: bySide.counter(
    'Requests while a candidate is in use, by the side that their client is on, and by the class of their status.',
  ),
  candidate_fallbacks_total: seriesFor(['operation'], sided).counter(
    'Requests of clients on the candidate that the primary served.',
    'fallbacks',
  ),
  candidate_share: shifted.gauge(
    'Part of the clients that are on the candidate just now, from 0 to 1, those that the file names aside.',
    'share',
  ),
  candidate_taken_back: shifted.gauge(
    'Whether the guard has taken the candidate back (1), and no operator and no edit has said otherwise since.',
    isTakenBack,
  ),
}
