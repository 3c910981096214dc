import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Group, Operation, Side } from '../../operations.ts'
import type { AdminConfig, Config, ListenConfig, OperationConfig } from '../config/config.ts'
import type { FailureReason } from '../exchange/failures/errors.ts'
import type { FailureKind } from '../exchange/failures/kinds.ts'
import type { Beside } from '../lib/beside.ts'
import type { OperatorScope } from '../lib/operators.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { PlainObject } from '../lib/plain-object.ts'
import type { Log } from '../log/log.ts'
import type { OverridesView } from '../runtime/overrides.ts'
import type { LayerRow } from '../runtime/pipeline/layer-stack.ts'
import type { DerivedField } from '../runtime/status/field.ts'
import type { UpstreamStatus } from '../runtime/status/upstreams.ts'
import type { OperatorProofs } from './access/operator-proofs.ts'
import type { Principal } from './access/principal.ts'
import type { TokenRefusals } from './access/token-refusals.ts'
import type { AdminContext } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'
import type { Overview } from './api/overview.ts'
import type { CommandGroup } from './commands/command.ts'
import type { FindingSource, Found } from './findings/finding.ts'
import type { FindingInputs } from './findings/finding-inputs.ts'
import type { Html, HtmlValue } from './html.ts'
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

/** A response field that a layer writes, as an object `Header` of OpenAPI, and its name there. */
export interface DescribedField {
  readonly layer: LayerRow['name']
  readonly field: string
  readonly component: string
  readonly header: PlainObject
}

/** What a feature adds to an operation, as clients see it. */
export interface OperationNotes {
  /** The failures that a client may be told of. */
  readonly failures?: readonly FailureKind[]
  /** The fields of every response to a request that a layer has seen. */
  readonly fields?: readonly DescribedField[]
  /** Further fields of what is not an error of the gateway's own. */
  readonly relayedFields?: readonly DescribedField[]
  /** Further fields of the errors of these kinds. */
  problemFields?(kinds: readonly FailureKind[]): readonly DescribedField[]
  /** The fields of requests that it reads, as objects `Parameter`. */
  readonly parameters?: readonly { readonly component: string; readonly value: PlainObject }[]
  /** The responses that it sends itself, by status. */
  readonly responses?: Readonly<Record<string, PlainObject>>
  /** How clients prove who they are: the alternatives, each with the scopes of its schemes, by their names. */
  readonly security?: {
    readonly schemes: Readonly<Record<string, PlainObject>>
    readonly alternatives: readonly Readonly<Record<string, readonly string[]>>[]
  }
}

export type DescribeOperation = (operation: Operation, config: Config) => OperationNotes

/** What a feature adds to the OpenAPI document of the nine. */
export interface OpenApiPart {
  readonly describe?: DescribeOperation
  /** The members that it adds to the schema of errors. */
  problemMembers?(config: Config): PlainObject
  /** Returns what is said of the nine, as a document of OpenAPI; null: nothing is. */
  document?(config: Config): unknown
  /** Returns the scheme of clients by what stands in front; empty: it is not known; null: nothing stands there. */
  clientScheme?(listen: ListenConfig): 'https:' | '' | null
}

export type SectionPlace = Beside<'upstreams' | 'refusals' | 'orders' | 'certificates'>

/** A section of the overview page. One with the name of an earlier one stands in its place. */
export type PlacedSection = SectionPlace & {
  /** The `id` of its element. */
  readonly name: string
  /** What the link to it is called. */
  readonly link: string
  /** Where the link stands, if not where the section does. */
  readonly linkPlace?: SectionPlace
  render(view: Overview): Html
}

/** What a feature shows on the overview page. */
export interface PagePart {
  readonly pageSections?: readonly PlacedSection[]
  /** Says more of a side of a group, behind its state. Null: nothing. */
  readonly sideFact?: (upstream: UpstreamStatus, side: Side) => Html | null
  /** What it writes down, beside the log. */
  readonly recordRow?: { readonly word: string; readonly title: string; cell(view: Overview): HtmlValue }
}

/** What a feature brings to the operator's listener. */
export interface AdminPart {
  readonly reports?: readonly AdminReport[]
  readonly findings?: readonly PlacedFindings[]
  readonly metrics?: readonly PlacedMetrics[]
  readonly status?: readonly PlacedStatus[]
  readonly overview?: readonly PlacedOverview[]
  /** Gets what its findings are made from. It adds that to `FindingInputs` (`declare module`). */
  findingInputs?(context: AdminContext): object
  /** Finds what is wrong with the upstream of a group of which an endpoint serves. */
  findOfGroup?(group: Group, inputs: FindingInputs): Found
  /** Says more of the errors that clients make for a reason. */
  describeClientErrors?(reason: FailureReason | null, config: Config): ClientErrorNote | null
  /** Lists the ids of the clients that may call. */
  listClients?(config: Config): readonly string[]
  /** Tells whether stored responses answer requests of an operation. */
  isStored?(operation: OperationConfig): boolean
  readonly findClients?: FindClients
  readonly openProofs?: OpenProofs
  readonly openPages?: OpenPages
  /** Lists the requests that its pages take. */
  pageRoutes?(groups: readonly CommandGroup[]): readonly RouteScope[]
  readonly loadPage?: () => Promise<PagePart>
  readonly loadOpenApi?: () => Promise<OpenApiPart>
}

export interface ClientErrorNote {
  /** The key of the senders that make them: they get no response. By default, clients make them. */
  readonly senders?: string
  /** What stands behind the reason. */
  readonly note?: string
}

/** What finds what is wrong; of findings that are as severe, the place is the order. */
export type PlacedFindings = Beside<
  'serving' | 'eventLoop' | 'log' | 'upstreams' | 'relayedErrors' | 'gatewayErrors' | 'certificates' | 'configuration'
> & {
  readonly value: FindingSource
}

/** A section of /status, which follows from `StatusInputs`. Its feature adds it to `Status` (`declare module`). */
export type PlacedStatus = Beside<'upstreams' | 'operations' | 'retiring'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

/** A member of /overview, which follows from `OverviewInputs`. Its feature adds it to `Overview` (`declare module`). */
export type PlacedOverview = Beside<'unmatchedPerSecond' | 'refusals'> & {
  readonly key: string
  readonly field: DerivedField<unknown>
}

export type PlacedMetrics = Beside<
  'requests' | 'endpoints' | 'upstreams' | 'configuration' | 'process' | 'recording'
> & {
  readonly value: MetricDefinitions
}

/** Of each feature that operators see. */
export const adminPartLoaders = new PartLoaders<AdminPart>()
