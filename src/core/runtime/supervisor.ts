import type { InheritedSockets } from '../lib/net/bind-target.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { Log } from '../log/log.ts'
import type { Gateway } from './gateway.ts'

/** The program that has started this process, and wants to know how it does. */
export interface Supervisor {
  /** The listening sockets that it hands over; null: none. */
  readonly sockets: InheritedSockets | null
  /** Makes what tells it; null: it does not ask. */
  readonly createNotifier: ((gateway: Gateway, log: Log) => ServiceNotifier) | null
}

/** Tells a supervisor how the gateway does. */
export interface ServiceNotifier {
  /** Says that the gateway serves, and from now on, as long as the event loop turns, that it lives. */
  ready(): void
  /** Says that a reload has begun. Call `reloaded` once for each call. */
  reloading(): void
  /** Says that the gateway serves on; nothing while another reload is under way. */
  reloaded(): void
  stopping(): void
}

/** Of each program that may supervise this process. */
export const supervisorLoaders = new PartLoaders<Supervisor | null>()

/** Takes over from the supervisor of this process; null: there is none. */
export const takeSupervisor = async (): Promise<Supervisor | null> => {
  const supervisors = await supervisorLoaders.load()
  return supervisors.find((supervisor) => supervisor !== null) ?? null
}
