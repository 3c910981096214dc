import type { Beside } from '../lib/beside.ts'
import type { DerivedField } from '../runtime/status/field.ts'
import type { AdminContext } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'
import type { FindingSource } from './findings/finding.ts'
import type { MetricDefinitions } from './metrics/metric.ts'

/** A report of the operator's listener, which a GET by anyone with the scope `read` gets as JSON. */
export interface AdminReport {
  readonly path: string
  respond(context: AdminContext): Promise<object | AdminError>
}

/** What a feature brings to the operator's listener. */
export interface AdminPart {
  readonly reports?: readonly AdminReport[]
  readonly findings?: readonly PlacedFindings[]
  readonly metrics?: readonly PlacedMetrics[]
  readonly status?: readonly PlacedStatus[]
}

/** What finds what is wrong; of findings that are as severe, the place is the order. */
export type PlacedFindings = Beside<'process' | 'upstreams' | 'operations' | 'credentials' | 'configuration'> & {
  readonly value: FindingSource
}

/** A section of /status, which follows from `StatusInputs`. Its feature adds it to `Status` (`declare module`). */
export type PlacedStatus = Beside<'upstreams' | 'operations' | 'retiring'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

export type PlacedMetrics = Beside<'upstreams' | 'configuration' | 'recording'> & { readonly value: MetricDefinitions }

export type LoadAdminPart = () => Promise<AdminPart>

/** Of each feature that operators see: added before `admin-parts.ts` is imported. */
export const adminPartLoaders = new Set<LoadAdminPart>()
