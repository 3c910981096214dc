import { asNullable, asNumber, asObject, asText } from '../../../core/lib/text/decode.ts'
import { formatTime } from '../../../core/lib/text/format-time.ts'
import { sum } from '../../../core/log/sum-reports.ts'
import type { Reported, Shown } from '../../../core/runtime/status/field.ts'
import * as field from '../../../core/runtime/status/field.ts'
import { collectSide, sideMembers } from '../../../core/runtime/status/side.ts'
import type { GroupSection } from '../../../core/runtime/status/status-part.ts'
import { zeroShadowDrops, zeroShadowOutcomes } from '../layers/shadow-copies.ts'
import { type ComparisonReport, mergeComparisonReports } from '../observe/comparison-report.ts'
import { shiftField } from '../shift/shift-state.ts'

/** What became of copies. */
const shadow = field.record({
  sent: field.count,
  /** Copies that have an answer of which the primary's is known too. */
  pairs: field.count,
  underWay: field.total,
  /** Requests that the primary was sent twice, so that its noise is learnt. */
  repeated: field.count,
  outcomes: field.record(field.counts(zeroShadowOutcomes)),
  dropped: field.record(field.counts(zeroShadowDrops)),
})

export const shadowShape = shadow.decode

/** The members that say how many answers of a candidate were compared with those of its primary. */
export const comparedMembers = {
  compared: asNumber,
  equal: asNumber,
  /** Those of the last five minutes. */
  recent: asObject({ compared: asNumber, equal: asNumber }),
}

const comparedShape = asObject({
  ...comparedMembers,
  /** Since when they are compared. Null: the gateway is of a version that does not say. */
  since: asNullable(asText),
})

/** Sums what was compared of all operations. */
export const sumComparison = (totals: ComparisonReport['totals']) => ({
  compared: sum(totals.map(({ compared }) => compared)),
  equal: sum(totals.map(({ equal }) => equal)),
  recent: {
    compared: sum(totals.map(({ recent }) => recent.compared)),
    equal: sum(totals.map(({ recent }) => recent.equal)),
  },
})

const candidateField = field.record({
  ...sideMembers,
  /** Null: the file asks for no copies. */
  shadow: field.nullable(shadow),
  /** Null: answers are not compared. What they differ in is in /shadow. */
  comparison: field.nullable(
    field.shownAs(
      comparedShape,
      ({ totals, since }: ComparisonReport) => ({ ...sumComparison(totals), since: formatTime(since) }),
      (from, workers) => mergeComparisonReports(from.digest, [from, ...workers]),
    ),
  ),
  /** Null: a reload is just under way. */
  shift: field.derived(asNullable(shiftField.decode), (_, context) => {
    const { overrides, group } = context
    const shift = group === undefined ? null : (overrides.shifts?.get(group) ?? null)
    return shift && shiftField.show(shift, context)
  }),
})

const knownCandidate = field.nullable(candidateField)

export type CandidateReport = Reported<typeof candidateField>

declare module '../../../core/runtime/status/upstreams.ts' {
  interface UpstreamReport {
    readonly candidate: CandidateReport | null
  }
  interface UpstreamStatus {
    readonly candidate: Shown<typeof knownCandidate>
  }
}

/** Null: the group has none, or a reload is under way, and some workers do not know of it. */
const candidate: typeof knownCandidate = {
  ...knownCandidate,
  merge: (from, workers) => (from === null || workers.includes(null) ? null : knownCandidate.merge(from, workers)),
}

export const ofGroup: readonly GroupSection[] = [
  {
    key: 'candidate',
    field: candidate,
    collect({ config, parts: { candidate } }, group): CandidateReport | null {
      const running = candidate.others[group]
      return (
        running && {
          ...collectSide(running),
          shadow: config.upstreams[group].candidate?.shadow ? candidate.copies[group].report : null,
          comparison: candidate.comparisons[group]?.report ?? null,
        }
      )
    },
  },
]

export { totals } from '../observe/comparison-report.ts'
