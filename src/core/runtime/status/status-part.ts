import type { Group } from '../../../operations.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Field, HiddenField } from './field.ts'
import type { StatusReport } from './report.ts'

/** A section that each process reports of a feature. */
export interface ReportSection {
  readonly key: string
  readonly field: HiddenField<unknown>
  collect(snapshot: Snapshot): unknown
}

/** A member of each group's upstream that a feature reports. */
export interface GroupSection {
  readonly key: string
  readonly field: Field<unknown, unknown>
  collect(snapshot: Snapshot, group: Group): unknown
}

/** What a feature reports. It adds its sections to `StatusReport` (`declare module`). */
export interface StatusPart {
  readonly reported?: readonly ReportSection[]
  /** It adds them to `UpstreamReport` and `UpstreamStatus`. */
  readonly ofGroup?: readonly GroupSection[]
  readonly totals?: readonly TotalReport[]
}

/** Tables that a feature counts. Each has the digest of what it counts, and starts at 0 when the digest changes. */
export interface TotalReport<Table extends TableWithDigest = TableWithDigest> {
  readonly name: string
  /** Lists the tables of a report, each by what it is of. */
  list(report: StatusReport): readonly (readonly [of: string, table: Table])[]
  /** Returns a report with another table of that. */
  replace(report: StatusReport, of: string, table: Table): StatusReport
  /** Adds up tables; those with another digest are left out. */
  merge(digest: string, tables: readonly Table[]): Table
  /** Returns what stays of a process that has ended: nothing of it is recent. */
  settle(table: Table): Table
}

export interface TableWithDigest {
  readonly digest: string
}

/** Of each feature that reports something. */
export const statusPartLoaders = new PartLoaders<StatusPart>()
