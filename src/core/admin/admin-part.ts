import type { Group } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { Beside } from '../lib/beside.ts'
import type { Log } from '../log/log.ts'
import type { OverridesView } from '../runtime/overrides.ts'
import type { DerivedField } from '../runtime/status/field.ts'
import type { OperatorProofs } from './access/operator-proofs.ts'
import type { TokenRefusals } from './access/token-refusals.ts'
import type { AdminContext } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'
import type { FindingSource } from './findings/finding.ts'
import type { MetricDefinitions } from './metrics/metric.ts'

/** A report of the operator's listener, which a GET by anyone with the scope `read` gets as JSON. */
export interface AdminReport {
  readonly path: string
  respond(context: AdminContext): Promise<object | AdminError>
}

/** Which clients of a group are on its primary, and what becomes of the others when their side fails. */
export interface GroupClients {
  readonly primary: 'all' | 'some' | 'none'
  readonly others: 'none' | 'covered' | 'exposed'
}

export type FindClients = (group: Group, config: Config, overrides: OverridesView) => GroupClients

export type OpenProofs = (log: Log, refusals: TokenRefusals) => Promise<OperatorProofs>

/** What a feature brings to the operator's listener. */
export interface AdminPart {
  readonly reports?: readonly AdminReport[]
  readonly findings?: readonly PlacedFindings[]
  readonly metrics?: readonly PlacedMetrics[]
  readonly status?: readonly PlacedStatus[]
  readonly overview?: readonly PlacedOverview[]
  /** Gets what its findings are made from. It adds that to `FindingInputs` (`declare module`). */
  findingInputs?(context: AdminContext): object
  readonly findClients?: FindClients
  readonly openProofs?: OpenProofs
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

/** A member of /overview, which follows from `OverviewInputs`. Its feature adds it to `Overview` (`declare module`). */
export type PlacedOverview = Beside<'unmatchedPerSecond' | 'clients'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

export type PlacedMetrics = Beside<'upstreams' | 'configuration' | 'recording'> & { readonly value: MetricDefinitions }

export type LoadAdminPart = () => Promise<AdminPart>

/** Of each feature that operators see: added before `admin-parts.ts` is imported. */
export const adminPartLoaders = new Set<LoadAdminPart>()
