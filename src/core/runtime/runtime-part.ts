import type { Group, Operation, Side } from '../../operations.ts'
import type { Config, UpstreamConfig } from '../config/config.ts'
import type { Handler } from '../exchange/exchange.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { ExchangeObserver } from '../log/exchange-record.ts'
import type { Log, LogEvent } from '../log/log.ts'
import type { RecentRequestsReport } from '../log/recent-errors.ts'
import type { EndpointUse } from '../upstream/endpoints/endpoint-registry.ts'
import type { CircuitBreaker } from '../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Channel, ChannelEnd, ProcessPlace } from './channel.ts'
import type { OverridesView } from './overrides.ts'
import type { LayerRow } from './pipeline/layer-stack.ts'

/** What a feature brings to the processes that serve. */
export interface RuntimePart {
  /** Loads what a configuration needs, before a snapshot is built from it. */
  prepare?(config: Config): Promise<void>
  /** Opens what lives in this process across snapshots. */
  open(process: ServingProcess): ProcessPart
  /** Makes what serves no traffic, for `explain`. */
  describe(config: Config): Pick<SnapshotPart, 'layers' | 'responseFields'>
}

/** The process that a part is opened in. */
export interface ServingProcess {
  readonly place: Pick<ProcessPlace, 'role' | 'workers' | 'answerMs' | 'saveEveryMs'>
  readonly channel: Channel
  /** What is hashed to be compared alone is hashed with: one key for all processes. */
  readonly digestKey: string
  /** Null: nothing is logged but events. */
  readonly log: Log | null
  readonly logEvent: LogEvent
  /** The parts of the features that stand before it in their list. */
  readonly parts: ProcessParts
}

/** The features in a process, by name. Each adds its own, where others need more of it than core knows. */
export interface ProcessParts {
  readonly [feature: string]: ProcessPart
}

/** A feature in a process. */
export interface ProcessPart extends ChannelEnd {
  /**
   * Makes the part of a snapshot. `previous`: that of the snapshot that runs. What is returned must not hold it, which
   * holds the one before, and so every part there ever was.
   */
  acquire(input: SnapshotInput, previous: SnapshotPart | null, context: SnapshotContext): SnapshotPart
  /** Finds the side of a group beside its primary that some clients are on. Null: none. */
  findOtherSide?(input: SnapshotInput, group: Group): OtherSide | null
  /** Returns a response field of a group that the gateway alone sets: that of upstreams is removed. Null: none. */
  ownResponseField?(config: Config, group: Group): string | null
  /** Lists the request fields that carry credentials. */
  credentialFields?(config: Config): readonly string[]
  /** Resolves when what the primary has to get from it is on its way. */
  flushed?(): Promise<void>
  /** The process shuts down: its requests still run. */
  close?(): void
  /** Cuts off what still runs when that took too long. */
  cut?(): void
}

/** What a part may use of the snapshot that it belongs to. */
export interface SnapshotContext {
  /** The parts of the features that stand before it in their list; when layers are made, all. */
  readonly parts: SnapshotParts
  /** Null: all clients of the group are on its primary. */
  otherSide(group: Group): OtherSide | null
  /** See {@link SnapshotPart.repeatKeyField}: of all features. When layers are made. */
  repeatKeyField(operation: Operation, upstream: UpstreamConfig): string | null
  /** See {@link ProcessPart.credentialFields}: of all features. */
  readonly credentialFields: readonly string[]
  /** The primary of each group. */
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** Null: the group has no such side. When layers are made. */
  findUpstream(group: Group, side: Side): Upstream | null
  /** Opens a further upstream of a group, as long as the snapshot lives. `breaker`: the one that goes on. */
  openUpstream(group: Group, use: EndpointUse, config: UpstreamConfig, breaker: CircuitBreaker | null): Upstream
}

/** A side of a group beside its primary. */
export interface OtherSide {
  readonly upstream: UpstreamConfig
  /** Whether the primary serves what could not be sent there. */
  readonly fallback: boolean
}

/** What a snapshot is built from. */
export interface SnapshotInput {
  readonly config: Config
  /** The operators' overrides, which go before the file. */
  readonly overrides: OverridesView
  /** The origin of the embedded upstream. Null: no endpoint uses it. */
  readonly sandboxOrigin: string | null
}

/** The features in a snapshot, by name. Each adds its own, where its status or its commands need more of it. */
export interface SnapshotParts {
  readonly [feature: string]: SnapshotPart
}

interface ResponseField {
  readonly name: string
  /** Whether it is written in place of the upstream's. */
  readonly isReplaced?: boolean
}

/** A feature in a snapshot. */
export interface SnapshotPart {
  /** Lists its layers around an operation's upstream, each in a place of the layer stack. */
  layers?(operation: Operation): readonly LayerRow[]
  /** Lists the fields, in lower case, that its layers write into every response of an operation. */
  responseFields?(operation: Operation): readonly ResponseField[]
  /** Null: it observes no exchange. */
  readonly observer?: ExchangeObserver | null
  /**
   * Returns the field, in lower case, of the key by which an upstream of an operation recognises a request that it has
   * processed. Null: it recognises none.
   */
  repeatKeyField?(operation: Operation, upstream: UpstreamConfig): string | null
  /** The upstream of the other side of each group, also while no client is on it. Null: the group has none. */
  readonly others?: Readonly<Record<Group, Upstream | null>>
  /** Returns the innermost handler of a group, in place of the send of its primary. */
  send?(group: Group): Handler
  readonly commands?: Readonly<Partial<Record<keyof DataPlaneCommands, DataPlaneCommand>>>
  /** Resolves when it can serve: its snapshot waits for it, a second at most. */
  readonly settled?: Promise<void>
  /** Called when its snapshot becomes the current one. Of two that share a resource, the later decides. */
  activate?(): void
  /** Releases what it holds, when no exchange uses the snapshot any more. */
  release?(): Promise<void> | void
}

/**
 * The operators' commands that run in the processes which serve clients: the parameter of each, and its result. Both
 * cross to other processes, so they are plain data. Features add theirs.
 */
export interface DataPlaneCommands {
  /** Ends the ejection of an endpoint, named as `/status` shows it. */
  readonly uneject: { readonly params: { readonly group: Group; readonly url: string }; readonly result: undefined }
  /** Collects the requests that ended since an operator watches, and has those kept that end within seconds. */
  readonly watchRequests: { readonly params: object; readonly result: RecentRequestsReport }
}

/** A command of a feature in a process. */
export interface DataPlaneCommand {
  /** Whether it runs in one process that serves clients, in place of all of them. */
  readonly runsOnce?: boolean
  /** Whether the primary of several workers runs it too. */
  readonly runsInPrimary?: boolean
  run(params: never): Promise<unknown>
}

/** Of each feature that takes part in exchanges. */
export const runtimePartLoaders = new PartLoaders<RuntimePart>()
