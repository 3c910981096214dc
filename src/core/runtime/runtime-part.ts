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

/** A feature's part in the processes that serve. */
export interface RuntimePart {
  prepare?(config: Config): Promise<void>
  open(process: ServingProcess): ProcessPart
  /** For `explain`: serves no traffic. */
  describe(config: Config): Pick<SnapshotPart, 'layers' | 'responseFields'>
}

export interface ServingProcess {
  readonly place: Pick<ProcessPlace, 'role' | 'workers' | 'primaryReplyMs' | 'saveEveryMs'>
  readonly channel: Channel
  /** The key of digests that processes compare: the same in all of them. */
  readonly digestKey: string
  readonly log: Log | null
  readonly logEvent: LogEvent
  /** The parts that are open: those of the features that it runs with, and of others before it. */
  readonly parts: ProcessParts
}

/** A feature adds its type where other features need it. */
export interface ProcessParts {
  readonly [feature: string]: ProcessPart
}

export interface ProcessPart extends ChannelEnd {
  /** Must not keep `previous`: each part would hold the one before, and memory would grow with every reload. */
  acquire(input: SnapshotInput, previous: SnapshotPart | null, context: SnapshotContext): SnapshotPart
  /** The side of a group, beside its primary, that some clients are on. Null: none. */
  findOtherSide?(input: SnapshotInput, group: Group): OtherSide | null
  /** A response field that only the gateway sets; an upstream's is removed. Null: none. */
  ownResponseField?(config: Config, group: Group): string | null
  /** Resolves when all messages for the primary have been sent. */
  flushed?(): Promise<void>
  close?(): void
  /** Aborts requests that run after the shutdown deadline. */
  cut?(): void
}

export interface SnapshotContext {
  /** The parts of the features before it in the list; when layers are made, all. */
  readonly parts: SnapshotParts
  /** Null: all clients of the group are on its primary. */
  otherSide(group: Group): OtherSide | null
  /** The first {@link SnapshotPart.repeatKeyField} of any feature. Only when layers are made. */
  repeatKeyField(operation: Operation, upstream: UpstreamConfig): string | null
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** Null: the group has no such side. Only when layers are made. */
  findUpstream(group: Group, side: Side): Upstream | null
  /** For the life of the snapshot. `breaker`: the one to carry over. */
  openUpstream(group: Group, use: EndpointUse, config: UpstreamConfig, breaker: Upstream['breaker']): Upstream
}

export interface OtherSide {
  readonly upstream: UpstreamConfig
  /** Whether the primary serves requests that could not be sent there. */
  readonly fallback: boolean
}

export interface SnapshotInput {
  readonly config: Config
  readonly overrides: OverridesView
  /** The origin of the embedded upstream. Null: no endpoint uses it. */
  readonly sandboxOrigin: string | null
}

/** A feature adds its type where its status or its commands need it. */
export interface SnapshotParts {
  readonly [feature: string]: SnapshotPart
}

interface ResponseField {
  readonly name: string
  readonly isReplaced?: boolean
}

export interface SnapshotPart {
  layers?(operation: Operation): readonly LayerRow[]
  /** The fields, in lower case, that its layers write into every response. */
  responseFields?(operation: Operation): readonly ResponseField[]
  readonly observer?: ExchangeObserver | null
  /** The field, in lower case, by which an upstream recognizes a repeated request. Null: none. */
  repeatKeyField?(operation: Operation, upstream: UpstreamConfig): string | null
  /** The other side of each group, also while no client is on it. Null: the group has none. */
  readonly others?: Readonly<Record<Group, Upstream | null>>
  /** Takes the place of the `send` of the group's primary. */
  send?(group: Group): Handler
  readonly commands?: Readonly<Partial<Record<keyof DataPlaneCommands, DataPlaneCommand>>>
  /** Resolves when it can serve; its snapshot waits for at most 1 s. */
  readonly settled?: Promise<void>
  /** Of two snapshots that share a resource, the later decides. */
  activate?(): void
  release?(): Promise<void> | void
}

/** Parameters and results cross process borders, so they are plain data. Features add theirs. */
export interface DataPlaneCommands {
  /** `url`: as `/status` shows it. */
  readonly uneject: { readonly params: { readonly group: Group; readonly url: string }; readonly result: undefined }
}

export interface DataPlaneCommand {
  readonly runsOnce?: boolean
  readonly runsInPrimary?: boolean
  run(params: never): Promise<unknown>
}

interface RuntimePartSource {
  readonly load: () => Promise<RuntimePart>
  /** Null: always. */
  readonly isUsed: ((input: SnapshotInput) => boolean) | null
  /** The features whose parts are loaded with it. */
  readonly runsWith: readonly string[]
}

/** In the order of the list of features. */
export const runtimePartSources = new Map<string, RuntimePartSource>()
