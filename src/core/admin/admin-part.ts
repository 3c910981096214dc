import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Operation, Side } from '../../operations.ts'
import type { AdminConfig, Config } from '../config/config.ts'
import type { FailureKind } from '../exchange/failures/failure-table.ts'
import type { Beside } from '../lib/beside.ts'
import type { OperatorScope } from '../lib/operators.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { PlainObject } from '../lib/plain-object.ts'
import type { TableRow } from '../lib/text/table.ts'
import type { Log } from '../log/log.ts'
import type { LayerRow } from '../runtime/pipeline/layer-stack.ts'
import type { DerivedField } from '../runtime/status/field.ts'
import type { Status, StatusReport } from '../runtime/status/status-part.ts'
import type { UpstreamStatus } from '../runtime/status/upstreams.ts'
import type { OperatorProofs, TokenRejections } from './access/operator-tokens.ts'
import type { Principal } from './access/principal.ts'
import type { AdminContext, AdminContextInit, FindClients } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'
import type { CommandGroup } from './commands/command.ts'
import type { FindingPart, FindingSource } from './findings/finding-inputs.ts'
import type { Html, HtmlValue } from './html.ts'
import type { MetricDefinitions } from './metrics/metric.ts'

export type AdminReport = Beside<'status' | 'rejected' | 'config'> & {
  readonly path: string
  /** For `Accept: text/plain`. */
  readonly respondText?: (context: AdminContext) => Promise<string>
  respond(context: AdminContext): Promise<object | AdminError>
}

export type OpenProofs = (log: Log, rejections: TokenRejections) => OperatorProofs

export interface RouteScope {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** A last `*` matches anything. */
  readonly path: string
  readonly scope: OperatorScope | 'none'
  /**
   * Whether a session's cookie suffices: to read, and for forms with the session's token. Other sites' pages send the
   * cookie too (CSRF).
   */
  readonly bySession: boolean
}

export interface OperatorPages {
  findInSession(headers: IncomingHttpHeaders, admin: AdminConfig): Principal | null
  /** After the routes of the commands. */
  registerActionPages(app: FastifyInstance): void
  registerPages(app: FastifyInstance): void
  /** Responds to a rejected request; null: the request is for no page. */
  reject(request: FastifyRequest, reply: FastifyReply, rejection: AdminError): FastifyReply | null
  applyConfig(admin: AdminConfig): void
  end(): void
}

/** Checks a request again when its command has waited; null: the operator is still authorized. */
export type Recheck = (request: FastifyRequest) => AdminError | null

export type OpenPages = (context: AdminContext, log: Log, proofs: OperatorProofs, recheck: Recheck) => OperatorPages

/** An object `Header` of OpenAPI that a layer adds to responses. */
export interface DescribedField {
  readonly layer: LayerRow['name']
  readonly field: string
  readonly component: string
  readonly header: PlainObject
}

export interface OperationNotes {
  readonly failures?: readonly FailureKind[]
  readonly fields?: readonly DescribedField[]
  /** Fields of upstreams' and stored responses, not of the gateway's own errors. */
  readonly relayedFields?: readonly DescribedField[]
  problemFields?(kinds: readonly FailureKind[]): readonly DescribedField[]
  readonly parameters?: readonly { readonly component: string; readonly value: PlainObject }[]
  readonly responses?: Readonly<Record<string, PlainObject>>
  readonly security?: {
    readonly schemes: Readonly<Record<string, PlainObject>>
    readonly alternatives: readonly Readonly<Record<string, readonly string[]>>[]
  }
}

export type DescribeOperation = (operation: Operation, config: Config) => OperationNotes

export interface OpenApiPart {
  readonly describe?: DescribeOperation
  problemMembers?(config: Config): PlainObject
  /** The contract as an OpenAPI document: the base of the gateway's own. */
  document?(config: Config): unknown
}

/** The data of the page. Features add members (`declare module`). */
export interface Overview {
  readonly at: string
  readonly status: Status
}

export interface OverviewInputs {
  readonly context: AdminContext
  readonly report: StatusReport
  readonly status: Status
}

export type SectionPlace = Beside<'upstreams' | 'rejections' | 'commands' | 'certificates'>

/** Replaces an earlier section of the same name. */
export type PlacedSection = SectionPlace & {
  readonly name: string
  readonly link: string
  /** Default: the place of the section. */
  readonly linkPlace?: SectionPlace
  render(view: Overview): Html
}

export interface PagePart {
  readonly pageSections?: readonly PlacedSection[]
  /** Shown behind the state of a group's side. */
  readonly sideFact?: (upstream: UpstreamStatus, side: Side) => Html | null
  readonly processRows?: (view: Overview) => readonly (readonly [title: string, cell: HtmlValue])[]
  readonly recordRow?: { readonly word: string; readonly title: string; cell(view: Overview): HtmlValue }
}

export interface AdminPart extends FindingPart {
  readonly reports?: readonly AdminReport[]
  readonly findings?: readonly PlacedFindings[]
  readonly metrics?: readonly PlacedMetrics[]
  readonly status?: readonly PlacedStatus[]
  readonly overview?: readonly PlacedOverview[]
  openState?(context: AdminContextInit): AdminState
  /** Declared in `FindingInputs` (`declare module`). */
  findingInputs?(context: AdminContext, report: StatusReport): object
  readonly findClients?: FindClients
  readonly loadProofs?: () => Promise<OpenProofs>
  readonly loadPages?: () => Promise<OpenPages>
  pageRoutes?(groups: readonly CommandGroup[]): readonly RouteScope[]
  readonly loadStatusTexts?: () => Promise<StatusTexts>
  readonly loadPage?: () => Promise<PagePart>
  readonly loadOpenApi?: () => Promise<OpenApiPart>
}

export interface AdminState {
  /** Declared in `AdminContext` (`declare module`). */
  readonly members: object
  start(): void
  close(): void
}

/** Among findings of equal severity, the place decides the order. */
export type PlacedFindings = Beside<
  'serving' | 'eventLoop' | 'log' | 'upstreams' | 'drained' | 'gatewayErrors' | 'certificates' | 'configuration'
> & {
  readonly value: FindingSource
}

export type PlacedStatus = Beside<'upstreams' | 'operations' | 'retiring'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

export type PlacedOverview = Beside<'unmatchedPerSecond' | 'rejections'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

export type PlacedMetrics = Beside<
  'requests' | 'endpoints' | 'upstreams' | 'configuration' | 'process' | 'recording'
> & {
  readonly value: MetricDefinitions
}

export interface StatusTexts {
  readonly texts?: readonly StatusText[]
  readonly facts?: readonly StatusFact[]
  readonly groupRows?: GroupRows
}

/** Rows below a group's endpoints: label, name, weight, requests in flight, state. */
export type GroupRows = (group: string, upstream: UpstreamStatus, at: number) => readonly TableRow[]

export type StatusText = Beside<'upstreams' | 'certificates'> & {
  readonly key: keyof Status
  render(status: Status, at: number): string | null
  readonly inTop?: true
  /** The part of the section that concerns one operation, for `explain --live`. */
  ofOperation?(status: Status, operation: Operation): unknown
}

export interface StatusFact {
  readonly label: string
  render(status: Status, at: number): string | null
}

export const adminPartLoaders = new PartLoaders<AdminPart>()
