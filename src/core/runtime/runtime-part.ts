import type { Operation } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { ExchangeObserver } from '../log/exchange-record.ts'
import type { LogEvent } from '../log/log-event.ts'
import type { RequestMetrics } from '../log/metrics/request-metrics.ts'
import type { LayerRow } from './pipeline/layer-row.ts'

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
  readonly requestMetrics: RequestMetrics
  readonly logEvent: LogEvent
}

/** A feature in a process. */
export interface ProcessPart {
  /** Makes the part of a snapshot. */
  acquire(config: Config): SnapshotPart
}

/** A feature in a snapshot. */
export interface SnapshotPart {
  /** Lists its layers around an operation's upstream, each in a place of the layer stack. */
  layers?(operation: Operation): readonly LayerRow[]
  /** Null: it observes no exchange. */
  readonly observer?: ExchangeObserver | null
  /** Releases what it holds, when no exchange uses the snapshot any more. */
  release?(): Promise<void> | void
}

export type LoadRuntimePart = () => Promise<RuntimePart>

/** Of each feature that takes part in exchanges: added before `runtime-parts.ts` is imported. */
export const runtimePartLoaders = new Set<LoadRuntimePart>()
