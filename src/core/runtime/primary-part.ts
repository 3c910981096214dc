import { allOperations, type OperationId } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { ProvenanceMap } from '../config/load/provenance.ts'
import type { ConfigProblem } from '../config/problem.ts'
import type { FailureKind } from '../exchange/failures/kinds.ts'
import type { Beside } from '../lib/beside.ts'
import type { BindTarget } from '../lib/net/bind-target.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { Log } from '../log/log.ts'
import type { Channel, ChannelEnd, FeatureMessage } from './channel.ts'
import type { OverridesView, ReapplyOverrides, RecordAdminEvent } from './overrides.ts'
import type { ProxyServer } from './proxy-server.ts'
import type { SnapshotInput } from './runtime-part.ts'

/** What a feature brings to the process that operators speak with: the one that serves, or the primary of several. */
export interface PrimaryFeature {
  open?(gateway: PrimaryGateway): PrimaryPart
  /** Tries what an edit brings, before it takes effect. Lists what is not there. */
  preflight?(running: Config, next: Config, provenance: ProvenanceMap, file: string): Promise<readonly ConfigProblem[]>
  /** Divides its limits of the whole gateway among processes. What cannot be divided evenly is rounded up. */
  divide?(config: Config, processes: number): Config
  /** Counts the descriptors that it may need in a process beside those of connections; `share`: of what is divided. */
  countFiles?(config: Pick<Config, 'upstreams'>, share: (limit: number) => number): number
  /** Lets in whom the current configuration lets in, when a rollback returns to an earlier one. */
  keepCredentials?(current: Config, earlier: Config): KeptCredentials
  /** What a rollback switches off by force alone. */
  readonly protections?: PlacedProtections
}

export interface KeptCredentials {
  /** What of the earlier configuration is replaced. */
  readonly settings: Partial<Config>
  /** The keys of that in the file. */
  readonly paths: readonly string[]
  /** Whether the earlier one has the same. */
  readonly isSame: boolean
}

/** A setting that is on or off, and keeps out attackers, or shows what they did. */
export interface Protection {
  readonly path: string
  isOn(config: Config): boolean
  /** The key that stands for the path where a configuration has it nowhere. */
  readonly general?: Protection
}

export type PlacedProtections = Beside<'tls.verify'> & { readonly value: readonly Protection[] }

/** Lists a protection that each operation has: a key of the operation. */
export const protectOperations = (
  key: string,
  isOn: (config: Config, id: OperationId) => boolean,
  general: Protection | undefined = undefined,
): readonly Protection[] =>
  allOperations.map(({ id }) => ({
    path: `operations.${id}.${key}`,
    isOn: (config) => isOn(config, id),
    ...(general && { general }),
  }))

/** The gateway that a part is opened in. */
export interface PrimaryGateway {
  readonly log: Log
  droppedLines(): number
  /** The configuration that runs. */
  config(): Config
  readonly recordAdminEvent: RecordAdminEvent
  readonly reapply: ReapplyOverrides
  /** Reaches the feature in the processes that serve, also when that is this one. */
  readonly channel: Pick<Channel, 'notify'>
}

/** A feature in that process, from the start of the gateway to its end. */
export interface PrimaryPart extends Omit<ChannelEnd, 'answer'> {
  /** The kinds of overrides that it adds, as they stand. */
  readonly overrides?: Partial<OverridesView>
  /** Does all that can fail before a configuration takes effect. */
  prepare?(config: Config, isRollback: boolean): Promise<PreparedPart>
  readonly recordAdminEvent?: RecordAdminEvent
  /** Called after every reload, whatever came of it. */
  onReload?(): void
  /** Returns what every exchange is rejected with just now, whatever the state of its upstream. Null: none is. */
  rejectsAll?(): FailureKind | null
  /** Opens the processes that serve clients. Null: it opens none. Where no feature does, this process serves. */
  openServer?(options: ServerOptions): Promise<ProxyServer | null>
  /** Ends what it does by itself: the gateway stops. */
  stop?(): void
  /** Closes it: no client is served any more. */
  close?(): Promise<void>
}

/** What processes that serve clients are opened with. */
export interface ServerOptions {
  /** The first state; its limits are of the whole gateway. */
  readonly initial: SnapshotInput
  readonly bindTarget: BindTarget
  /** Writes whole log lines of other processes. */
  forwardLines(lines: Buffer): void
  /** All features in this process. */
  readonly primary: {
    receive(message: FeatureMessage, from: string): void
    handOver(): readonly FeatureMessage[]
    onGone(worker: string): void
  }
}

/** The change of a part, prepared: exactly one of the two is called. */
export interface PreparedPart {
  /** Where the embedded upstream listens. Null: no configuration has used it. */
  readonly sandboxOrigin?: string | null
  /** The overrides of the part as they will stand; left out: they stay as they are. */
  readonly overrides?: Partial<OverridesView>
  /** Puts it into effect. Never fails. */
  commit?(): void
  discard?(): Promise<void> | void
}

/** The part of each feature. One adds its own by `declare module`, where its commands need more than core knows. */
export interface PrimaryParts {
  readonly [feature: string]: PrimaryPart
}

export const primaryPartLoaders = new PartLoaders<PrimaryFeature>()
