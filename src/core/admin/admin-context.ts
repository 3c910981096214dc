import type { Group } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { CommandLine } from '../lib/program.ts'
import type { Overrides, OverridesView, RecordAdminEvent } from '../runtime/overrides.ts'
import type { PrimaryParts } from '../runtime/primary-part.ts'
import type { NotServingReason } from '../runtime/proxy-server.ts'
import type { Reloader } from '../runtime/reload/reloader.ts'
import type { RunInAllProcesses } from '../runtime/snapshot/data-plane.ts'
import type { StatusReport } from '../runtime/status/status-part.ts'

/** Which clients of a group use its primary, and whether the other clients fall back to it. */
export interface GroupClients {
  readonly primary: 'all' | 'some' | 'none'
  readonly others: 'none' | 'covered' | 'exposed'
}

export type FindClients = (group: Group, config: Config, overrides: OverridesView) => GroupClients

export interface AdminContextInit {
  readonly reloader: Reloader
  readonly overrides: Pick<Overrides, 'operations' | 'endpoints'> & OverridesView
  readonly parts: PrimaryParts
  readonly recordAdminEvent: RecordAdminEvent
  draining(): boolean
  notServing(): NotServingReason | null
  droppedLines(): number
  /** `urgent` as in `ProxyServer`. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  readonly runEverywhere: RunInAllProcesses
}

/** Features add their state (`AdminPart.openState`). */
export interface AdminContext extends AdminContextInit {
  operatorKeys(): object | null
  readonly findClients: FindClients
  formatCommand(command: CommandLine): string
  readonly commandHistory: CommandHistory
}

interface ExecutedCommand {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly text: string
}

const maxCommands = 20

export class CommandHistory {
  #last: readonly ExecutedCommand[] = []

  /** Newest first. */
  get last(): readonly ExecutedCommand[] {
    return this.#last
  }

  add(command: ExecutedCommand): void {
    this.#last = [command, ...this.#last].slice(0, maxCommands)
  }
}
