import type { Gateway } from '../gateway.ts'
import type { Log } from '../observe/log.ts'
import type { InheritedSockets } from '../workers/accept/inherited-sockets.ts'
import { installedFeatures } from './features.ts'

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
  /** Says that the gateway stops. */
  stopping(): void
}

/** Takes over from the supervisor of this process; null: there is none. */
export const takeSupervisor = async (): Promise<Supervisor | null> => {
  for (const { takeSupervisor } of installedFeatures()) {
    const supervisor = (await takeSupervisor?.()) ?? null
    if (supervisor !== null) return supervisor
  }
  return null
}
