import type { FailureKind } from '../exchange/failures/kinds.ts'
import type { CommandLine } from '../lib/program.ts'
import type { Overrides, OverridesView, RecordAdminEvent } from '../runtime/overrides.ts'
import type { PrimaryParts } from '../runtime/primary-part.ts'
import type { NotServingReason } from '../runtime/proxy-server.ts'
import type { Reloader } from '../runtime/reload/reloader.ts'
import type { RunInAllProcesses } from '../runtime/snapshot/data-plane-commands.ts'
import type { StatusReport } from '../runtime/status/report.ts'
import type { FindClients } from './admin-part.ts'
import type { OrderHistory } from './commands/order-history.ts'
import type { EndpointRates } from './endpoint-rates.ts'
import type { RateHistory } from './rate-history.ts'

export interface AdminContext {
  readonly reloader: Reloader
  readonly overrides: Pick<Overrides, 'operations' | 'endpoints'> & OverridesView
  readonly parts: PrimaryParts
  readonly recordAdminEvent: RecordAdminEvent
  draining(): boolean
  notServing(): NotServingReason | null
  droppedLines(): number
  /** Collects what is known of the traffic, from the processes that serve it; `urgent` as `ProxyServer` has it. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  operatorKeys(): object | null
  readonly findClients: FindClients
  /** Formats a command so that it runs on this machine. */
  formatCommand(command: CommandLine): string
  readonly orders: OrderHistory
  readonly history: RateHistory
  readonly endpointRates: EndpointRates
  readonly runEverywhere: RunInAllProcesses
}

/** Why this gateway can serve no new client, whatever the state of its upstreams. */
export type NotReadyReason = 'draining' | NotServingReason | FailureKind

/**
 * Gets why new clients are not welcome; null: they are. Upstreams do not count: a gateway whose upstream is down is
 * still the best one to say so. A gateway that rejects every exchange, because none can be recorded, say, serves no
 * client; another one, with room on its disk, does.
 */
export const getNotReadyReason = ({
  draining,
  notServing,
  parts,
}: Pick<AdminContext, 'draining' | 'notServing' | 'parts'>): NotReadyReason | null => {
  if (draining()) return 'draining'
  const rejecting = Object.values(parts).map((part) => part.rejectsAll?.() ?? null)
  return notServing() ?? rejecting.find((reason) => reason !== null) ?? null
}
