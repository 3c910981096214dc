import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Group } from '../../operations.ts'
import type { AdminConfig, Config } from '../config/config.ts'
import type { Beside } from '../lib/beside.ts'
import type { OperatorScope } from '../lib/operators.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { Log } from '../log/log.ts'
import type { OverridesView } from '../runtime/overrides.ts'
import type { DerivedField } from '../runtime/status/field.ts'
import type { OperatorProofs } from './access/operator-proofs.ts'
import type { Principal } from './access/principal.ts'
import type { TokenRefusals } from './access/token-refusals.ts'
import type { AdminContext } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'
import type { CommandGroup } from './commands/command.ts'
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

/** A request that the operator's listener serves. */
export interface RouteScope {
  /** GET stands for HEAD too. */
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path; a last `*` stands for anything. */
  readonly path: string
  /** `none`: no credential at all. */
  readonly scope: OperatorScope | 'none'
  /**
   * Whether the cookie of a session is credential enough. A browser sends it along with whatever any page asks for. So
   * it is enough to read, and for the forms of the pages, which count only with their token.
   */
  readonly bySession: boolean
}

/** What the operator's listener has for browsers, beside JSON for programs. */
export interface OperatorPages {
  /** Finds who sends a request by its session; null: it has none. */
  findInSession(headers: IncomingHttpHeaders, admin: AdminConfig): Principal | null
  /** Registers the pages that ask before an order is given. They stand behind the routes of the commands. */
  registerOrderPages(app: FastifyInstance): void
  registerPages(app: FastifyInstance): void
  /** Sends the response of a rejected request; null: the request is for no page. */
  reject(request: FastifyRequest, reply: FastifyReply, rejection: AdminError): FastifyReply | null
  applyConfig(admin: AdminConfig): void
  /** Ends the streams of open pages. */
  end(): void
}

/** Checks a request again, when it is its turn; null: its operator may still give the order. */
export type Recheck = (request: FastifyRequest) => AdminError | null

export type OpenPages = (
  context: AdminContext,
  log: Log,
  proofs: OperatorProofs,
  recheck: Recheck,
) => Promise<OperatorPages>

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
  readonly openPages?: OpenPages
  /** Lists the requests that its pages take. */
  pageRoutes?(groups: readonly CommandGroup[]): readonly RouteScope[]
}

/** What finds what is wrong; of findings that are as severe, the place is the order. */
export type PlacedFindings = Beside<
  'serving' | 'process' | 'upstreams' | 'operations' | 'credentials' | 'configuration'
> & {
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

export type PlacedMetrics = Beside<'upstreams' | 'configuration' | 'process' | 'recording'> & {
  readonly value: MetricDefinitions
}

/** Of each feature that operators see. */
export const adminPartLoaders = new PartLoaders<AdminPart>()
