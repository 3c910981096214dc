import type { LongRun } from './long-run.ts'
import { type MeasuredValue, medianIn, samplesOfOne } from './series.ts'
import { none, type Verdict } from './verdict.ts'

/** How much the memory of the last third may exceed that of the middle one. */
const atMost = 1.03

/** Lines of the log that come from what was done here: bad edits, and workers that were killed. */
const expected = new Set([
  'configuration rejected: the running configuration stays in effect',
  'configuration problem',
  'worker ended',
])

/** Judges what is left of a run. */
export const judgeRun = (run: LongRun): readonly Verdict[] => {
  const processes = run.workers > 1 ? (['gateway', 'worker'] as const) : (['gateway'] as const)
  return [
    ...processes.map((who) => {
      const heaps = samplesOfOne(run.samples, who).map(({ atMs, heapBytes }) => ({ atMs, value: heapBytes }))
      return flatVerdict(`heap of the ${who}`, heaps, run.loadMs)
    }),
    none('descriptors, handles and timers more or less than before', run.left),
    none(`of ${run.requests} requests, did not go well and nothing explains it`, run.unexplained > 0 ? run.shown : []),
    ...judgeComplaints(run),
  ]
}

/** Judges what a gateway said, and how it ended. */
export const judgeComplaints = ({
  complaints,
  exitCode,
}: Pick<LongRun, 'complaints' | 'exitCode'>): readonly Verdict[] => [
  none(
    'log lines of level error, or words on stderr, that nothing here explains',
    Object.keys(complaints).filter((key) => !expected.has(key)),
  ),
  { what: 'exit code on SIGTERM', found: String(exitCode), atMost: '0', held: exitCode === 0 },
]

/** Judges whether what was measured is as much in the last third of a run as in the middle one. */
export const flatVerdict = (what: string, measured: readonly MeasuredValue[], loadMs: number): Verdict => {
  const ratio = medianIn(measured, 2, loadMs) / medianIn(measured, 1, loadMs)
  return {
    what: `${what} after two collections, median of the last third / of the middle third`,
    found: ratio.toFixed(3),
    atMost: String(atMost),
    held: ratio <= atMost,
  }
}
