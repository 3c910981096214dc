import type { OperationView, Overview } from '../../../core/admin/api/overview.ts'
import { stepSeconds } from '../../../core/admin/rate-history.ts'
import type { OperationId } from '../../../operations.ts'

/** What the charts of the page are drawn from. Times are seconds since the epoch. */
interface ChartsData {
  /** The end of the newest step. */
  readonly until: number
  readonly operations: Readonly<Partial<Record<OperationId, OperationHistory>>>
  /** When another configuration took effect. */
  readonly reloads: readonly number[]
}

type OperationHistory = NonNullable<OperationView['history']>

/** Collects what the charts are drawn from. It is another only when there is another step. */
export const chartsData = ({
  at,
  operations,
  reloads,
}: Pick<Overview, 'at' | 'operations' | 'reloads'>): ChartsData => ({
  until: Math.trunc(Date.parse(at) / 1000 / stepSeconds) * stepSeconds,
  operations: Object.fromEntries(
    operations.flatMap(({ id, history }) => (history === null ? [] : [[id, roundHistory(history)]])),
  ),
  reloads: reloads.flatMap((reload) => (reload.result === 'applied' ? [Math.trunc(Date.parse(reload.at) / 1000)] : [])),
})

/** Leaves out digits that no eye can see in a chart, and that would be most of what is sent. */
const roundHistory = ({
  stepSeconds: step,
  perSecond,
  errorsPerSecond,
  p99Ms,
}: OperationHistory): OperationHistory => ({
  stepSeconds: step,
  perSecond: perSecond.map(roundDigits),
  errorsPerSecond: errorsPerSecond.map(roundDigits),
  p99Ms: p99Ms.map((ms) => ms && roundDigits(ms)),
})

const roundDigits = (value: number): number => Number(value.toPrecision(3))
