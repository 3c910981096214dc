import type { Group, Operation, Side } from '../../operations.ts'
import type { Config, UpstreamConfig } from '../config/config.ts'
import type { Handler } from '../exchange/exchange.ts'
import type { ExchangeObserver } from '../log/exchange-record.ts'
import type { Log, LogEvent } from '../log/log.ts'
import type { EndpointUse } from '../upstream/endpoints/endpoint-registry.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Channel, ChannelEnd, ProcessPlace } from './channel.ts'
import type { OverridesView } from './overrides.ts'
import type { LayerRow } from './pipeline/layer-stack.ts'

export interface RuntimePart {
  prepare?(config: Config): Promise<void>
  open(process: ServingProcess): ProcessPart
  /** For `explain`. */
  describe(config: Config): Pick<SnapshotPart, 'layers' | 'responseFields'>
}

export interface ServingProcess {
  readonly place: Pick<ProcessPlace, 'role' | 'workers' | 'primaryReplyMs' | 'saveEveryMs'>
  readonly channel: Channel
  /** Processes compare digests made with it. */
  readonly digestKey: string
  readonly log: Log | null
  readonly logEvent: LogEvent
  /** Of features that this feature runs with, and of features earlier in the list. */
  readonly parts: ProcessParts
}

export interface ProcessParts {
  readonly [feature: string]: ProcessPart
}

export interface ProcessPart extends ChannelEnd {
  /** Must not keep `previous`: memory would grow with each reload. */
  acquire(input: SnapshotInput, previous: SnapshotPart | null, context: SnapshotContext): SnapshotPart
  /** The side of a group beside its primary. Null: no client is on another side. */
  findOtherSide?(input: SnapshotInput, group: Group): OtherSide | null
  /** A response field that only the gateway sets, so that an upstream's field is removed. Null: none. */
  ownResponseField?(config: Config, group: Group): string | null
  flushed?(): Promise<void>
  close?(): void
  cut?(): void
}

export interface SnapshotContext {
  /** The parts of features earlier in the list; while layers are made, all parts. */
  readonly parts: SnapshotParts
  otherSide(group: Group): OtherSide | null
  /** The first {@link SnapshotPart.repeatKeyField} of any feature. Only while layers are made. */
  repeatKeyField(operation: Operation, upstream: UpstreamConfig): string | null
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** Only while layers are made. */
  findUpstream(group: Group, side: Side): Upstream | null
  openUpstream(group: Group, use: EndpointUse, config: UpstreamConfig, breaker: Upstream['breaker']): Upstream
}

export interface OtherSide {
  readonly upstream: UpstreamConfig
  readonly fallback: boolean
}

export interface SnapshotInput {
  readonly config: Config
  readonly overrides: OverridesView
  /** Null: no endpoint uses the embedded upstream. */
  readonly sandboxOrigin: string | null
}

export interface SnapshotParts {
  readonly [feature: string]: SnapshotPart
}

interface ResponseField {
  readonly name: string
  readonly isReplaced?: boolean
}

export interface SnapshotPart {
  layers?(operation: Operation): readonly LayerRow[]
  /** In lower case. */
  responseFields?(operation: Operation): readonly ResponseField[]
  readonly observer?: ExchangeObserver | null
  /** In lower case. */
  repeatKeyField?(operation: Operation, upstream: UpstreamConfig): string | null
  /** The other side of each group, even while no client is on it. Null: the group has none. */
  readonly others?: Readonly<Record<Group, Upstream | null>>
  send?(group: Group): Handler
  readonly commands?: Readonly<Partial<Record<keyof DataPlaneCommands, DataPlaneCommand>>>
  /** Resolves when the part can serve; the snapshot waits for at most 1 s. */
  readonly settled?: Promise<void>
  activate?(): void
  release?(): Promise<void> | void
}

/** Plain data, because parameters and results cross process borders. */
export interface DataPlaneCommands {
  readonly uneject: { readonly params: { readonly group: Group; readonly url: string }; readonly result: undefined }
}

export interface DataPlaneCommand {
  readonly runsOnce?: boolean
  readonly runsInPrimary?: boolean
  run(params: never): Promise<unknown>
}

interface RuntimePartSource {
  readonly load: () => Promise<RuntimePart>
  readonly isUsed: ((input: SnapshotInput) => boolean) | null
  readonly runsWith: readonly string[]
}

export const runtimePartSources = new Map<string, RuntimePartSource>()
