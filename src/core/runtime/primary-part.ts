import { allOperations, type OperationId } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { ProvenanceMap } from '../config/load/provenance.ts'
import type { ConfigProblem } from '../config/problem.ts'
import type { FailureKind } from '../exchange/failures/failure-table.ts'
import type { Beside } from '../lib/beside.ts'
import type { BindTarget } from '../lib/net/bind-target.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { Log } from '../log/log.ts'
import type { Channel, ChannelEnd } from './channel.ts'
import type { OverridesView, ReapplyOverrides, RecordAdminEvent } from './overrides.ts'
import type { ProxyServer } from './proxy-server.ts'
import type { SnapshotInput } from './runtime-part.ts'

/** A feature's part in the process that operators talk to: the only one, or the primary. */
export interface PrimaryFeature {
  open?(gateway: PrimaryGateway): PrimaryPart
  /** Lists the new endpoints and keys of an edit that the gateway cannot reach. */
  preflight?(running: Config, next: Config, provenance: ProvenanceMap, file: string): Promise<readonly ConfigProblem[]>
  /** Fractions are rounded up. */
  divide?(config: Config, processes: number): Config
  countFiles?(config: Pick<Config, 'upstreams'>, share: (limit: number) => number): number
  keepCredentials?(current: Config, earlier: Config): KeptCredentials
  readonly protections?: PlacedProtections
}

export interface KeptCredentials {
  readonly settings: Partial<Config>
  readonly paths: readonly string[]
  readonly isSame: boolean
}

/** A setting that keeps attackers out, or records what they did. */
export interface Protection {
  readonly path: string
  isOn(config: Config): boolean
  /** The key to name if the next configuration has the protection for no operation. */
  readonly general?: Protection
}

export type PlacedProtections = Beside<'tls.verify'> & { readonly value: readonly Protection[] }

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

export interface PrimaryGateway {
  readonly log: Log
  droppedLines(): number
  config(): Config
  readonly recordAdminEvent: RecordAdminEvent
  readonly reapply: ReapplyOverrides
  readonly channel: Pick<Channel, 'notify'>
}

export interface PrimaryPart extends Omit<ChannelEnd, 'reply'> {
  readonly overrides?: Partial<OverridesView>
  prepare?(config: Config, isRollback: boolean): Promise<PreparedPart>
  readonly recordAdminEvent?: RecordAdminEvent
  onReload?(): void
  rejectsAll?(): FailureKind | null
  /** If no feature opens a server, this process serves. */
  openServer?(options: ServerOptions): Promise<ProxyServer | null>
  stop?(): void
  close?(): Promise<void>
}

export interface ServerOptions {
  readonly initial: SnapshotInput
  readonly bindTarget: BindTarget
  forwardLines(lines: Buffer): void
  readonly primary: PrimaryParts
}

/** Exactly one of `commit` and `discard` is called. */
export interface PreparedPart {
  /** Null: no configuration has used the sandbox. */
  readonly sandboxOrigin?: string | null
  /** Undefined: no change. */
  readonly overrides?: Partial<OverridesView>
  commit?(): void // never throws
  discard?(): Promise<void> | void
}

export interface PrimaryParts {
  readonly [feature: string]: PrimaryPart
}

export const primaryPartLoaders = new PartLoaders<PrimaryFeature>()
