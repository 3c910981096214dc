import type { Group } from '../../../operations.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Field, HiddenField } from './field.ts'

/** Plain data. Times are milliseconds since the epoch. Each owner declares its sections. */
// biome-ignore lint/suspicious/noEmptyInterface: its owners declare the members
export interface StatusReport {}

/** Times are RFC 3339. Each owner declares its sections. */
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

export interface StatusPart {
  readonly reported?: readonly ReportSection[]
  readonly ofGroup?: readonly GroupSection[]
  readonly totals?: readonly TotalReport[]
}

/**
 * Tables of counts. Each has a digest of the settings that it counts by, and restarts at 0 when the digest changes.
 */
export interface TotalReport<Table extends TableWithDigest = TableWithDigest> {
  readonly name: string
  list(report: StatusReport): readonly (readonly [of: string, table: Table])[]
  replace(report: StatusReport, of: string, table: Table): StatusReport
  merge(digest: string, tables: readonly Table[]): Table
  settle(table: Table): Table
}

export interface TableWithDigest {
  readonly digest: string
}

export const statusPartLoaders = new PartLoaders<StatusPart>()
