import type { FindingView } from '../../src/core/admin/findings/finding.ts'

/** Leaves out of what /status found that the process is late: a busy machine may well make it so. */
export const withoutLateness = (findings: unknown): readonly FindingView[] =>
  (findings as readonly FindingView[]).filter(({ about }) => about !== 'process')
