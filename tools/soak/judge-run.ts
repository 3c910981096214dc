import type { LongRun } from './long-run.ts'
import { medianHeap, type Sample } from './series.ts'
import { none, type Verdict } from './verdict.ts'

/** How much the heap of the last third may exceed that of the middle one. */
const atMost = 1.03

/** Lines of the log that come from what was done here: bad edits, and workers that were killed. */
const expected = new Set(['configuration refused: what ran before runs on', 'configuration problem', 'worker ended'])

/** Judges what is left of a run. */
export const judgeRun = (run: LongRun): readonly Verdict[] => {
  const complaints = Object.keys(run.complaints).filter((key) => !expected.has(key))
  return [
    heap(run, 'gateway'),
    ...(run.workers > 1 ? [heap(run, 'worker')] : []),
    none('descriptors, handles and timers more or less than before', run.left),
    none(`of ${run.requests} requests, did not go well and nothing explains it`, run.unexplained > 0 ? run.shown : []),
    none('log lines of level error, or words on stderr, that nothing here explains', complaints),
    { what: 'exit code on SIGTERM', found: String(run.exitCode), atMost: '0', held: run.exitCode === 0 },
  ]
}

const heap = ({ samples, loadMs }: LongRun, who: Sample['who']): Verdict => {
  const ratio = medianHeap(samples, who, 2, loadMs) / medianHeap(samples, who, 1, loadMs)
  return {
    what: `heap of the ${who} after two collections, median of the last third / of the middle third`,
    found: ratio.toFixed(3),
    atMost: String(atMost),
    held: ratio <= atMost,
  }
}
