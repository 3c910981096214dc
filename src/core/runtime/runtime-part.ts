import type { Operation } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { ExchangeObserver } from '../log/exchange-record.ts'
import type { Log } from '../log/log.ts'
import type { LogEvent } from '../log/log-event.ts'
import type { RequestMetrics } from '../log/metrics/request-metrics.ts'
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
  describe(config: Config): Pick<SnapshotPart, 'layers'>
}

/** The process that a part is opened in. */
export interface ServingProcess {
  readonly place: Pick<ProcessPlace, 'role' | 'name' | 'workers' | 'answerMs'>
  readonly channel: Channel
  readonly requestMetrics: RequestMetrics
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
  /** Resolves when what the primary has to get from it is on its way. */
  flushed?(): Promise<void>
  /** The process shuts down: its requests still run. */
  close?(): void
}

/** What a part may use of the snapshot that it belongs to. */
export interface SnapshotContext {
  /** The parts of the features that stand before it in their list. */
  readonly parts: SnapshotParts
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

/** A feature in a snapshot. */
export interface SnapshotPart {
  /** Lists its layers around an operation's upstream, each in a place of the layer stack. */
  layers?(operation: Operation): readonly LayerRow[]
  /** Null: it observes no exchange. */
  readonly observer?: ExchangeObserver | null
  /** Called when its snapshot becomes the current one. Of two that share a resource, the later decides. */
  activate?(): void
  /** Releases what it holds, when no exchange uses the snapshot any more. */
  release?(): Promise<void> | void
}

export type LoadRuntimePart = () => Promise<RuntimePart>

/** Of each feature that takes part in exchanges, by its name: added before `runtime-parts.ts` is imported. */
export const runtimePartLoaders = new Map<string, LoadRuntimePart>()
