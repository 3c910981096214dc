import type { Snapshot } from '../snapshot/snapshot.ts'
import type { HiddenField } from './field.ts'

/** A section that each process reports of a feature. */
export interface ReportSection {
  readonly key: string
  readonly field: HiddenField<unknown>
  collect(snapshot: Snapshot): unknown
}

/** What a feature reports. It adds its sections to `StatusReport` (`declare module`). */
export interface StatusPart {
  readonly reported: readonly ReportSection[]
}

export type LoadStatusPart = () => Promise<StatusPart>

/** Of each feature that reports something: added before `report.ts` is imported. */
export const statusPartLoaders = new Set<LoadStatusPart>()
