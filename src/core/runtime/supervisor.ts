import type { InheritedSockets } from '../lib/net/bind-target.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { Log } from '../log/log.ts'
import type { Gateway } from './gateway.ts'

export interface Supervisor {
  readonly sockets: InheritedSockets | null
  readonly createNotifier: ((gateway: Gateway, log: Log) => ServiceNotifier) | null
}

export interface ServiceNotifier {
  /** Then reports, while the event loop turns, that the gateway is alive. */
  ready(): void
  reloading(): void
  /** No report while another reload is under way. */
  reloaded(): void
  stopping(): void
}

export const supervisorLoaders = new PartLoaders<Supervisor | null>()

export const takeSupervisor = async (): Promise<Supervisor | null> => {
  const supervisors = await supervisorLoaders.load()
  return supervisors.find((supervisor) => supervisor !== null) ?? null
}
