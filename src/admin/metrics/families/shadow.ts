import type { ShadowReport } from '../../../observe/candidate/shadow-counts.ts'
import { type Group, groups } from '../../../operations.ts'
import { type MetricDefinitions, seriesFor, seriesOfCounts } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

const listShadows = ({ report: { upstreams } }: MetricInputs): readonly (readonly [Group, ShadowReport])[] =>
  groups.flatMap((group) => {
    const shadow = upstreams[group].candidate?.shadow
    return shadow ? [[group, shadow] as const] : []
  })

const countsOf = seriesOfCounts('group', listShadows)
const perGroup = seriesFor(['group'], listShadows)

/** The copies of requests that go to candidates. No series for a group without any. */
export const shadowMetrics: MetricDefinitions = {
  shadow_copies_total: perGroup.counter('Copies of requests that were sent to a candidate.', ({ sent }) => sent),
  shadow_repeats_total: perGroup.counter(
    'Requests that were sent to the primary once more, so that its noise is learnt.',
    ({ repeated }) => repeated,
  ),
  shadow_copies_in_flight: perGroup.gauge('Copies that are under way.', ({ underWay }) => underWay),
  shadow_answers_total: countsOf('outcome', ({ outcomes }) => outcomes).counter(
    'Answers of a candidate to copies, by the class of their status; failed: there was no whole answer.',
  ),
  shadow_dropped_total: countsOf('reason', ({ dropped }) => dropped).counter(
    'Requests that were to be copied and were not, by what was in the way.',
  ),
}
