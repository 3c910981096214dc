import type { Group } from '../../../operations.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Field, HiddenField } from './field.ts'

/** What a process reports, as plain data. Times are milliseconds since the epoch. Each owner declares its sections. */
// biome-ignore lint/suspicious/noEmptyInterface: its owners declare the members
export interface StatusReport {}

/** What /status shows. Times are RFC 3339. Each owner declares its sections. */
// biome-ignore lint/suspicious/noEmptyInterface: its owners declare the members
export interface Status {}

export interface ReportSection {
  readonly key: string
  readonly field: HiddenField<unknown>
  collect(snapshot: Snapshot): unknown
}

export interface GroupSection {
  readonly key: string
  readonly field: Field<unknown, unknown>
  collect(snapshot: Snapshot, group: Group): unknown
}

/** A feature declares its sections in `StatusReport` (`declare module`). */
export interface StatusPart {
  readonly reported?: readonly ReportSection[]
  /** Declared in `UpstreamReport` and `UpstreamStatus`. */
  readonly ofGroup?: readonly GroupSection[]
  readonly totals?: readonly TotalReport[]
}

/** Tables of counts. Each has the digest of what it counts, and restarts at 0 when the digest changes. */
export interface TotalReport<Table extends TableWithDigest = TableWithDigest> {
  readonly name: string
  list(report: StatusReport): readonly (readonly [of: string, table: Table])[]
  replace(report: StatusReport, of: string, table: Table): StatusReport
  /** Tables with another digest are left out. */
  merge(digest: string, tables: readonly Table[]): Table
  /** Returns the table of an ended process, without its recent entries. */
  settle(table: Table): Table
}

export interface TableWithDigest {
  readonly digest: string
}

export const statusPartLoaders = new PartLoaders<StatusPart>()
