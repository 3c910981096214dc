import type { Log } from '../log/log.ts'
import type { Gateway } from './gateway.ts'
import type { InheritedSockets } from './workers/accept/inherited-sockets.ts'

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

/**
 * Takes over from the program that supervises this process, before anything is opened. Null: the process does not run
 * under that program. Rejects when what the program hands over is not as agreed.
 */
export type TakeSupervisor = () => Promise<Supervisor | null>

/** Of each program that may supervise this process. */
export const takeSupervisors = new Set<TakeSupervisor>()

/** Takes over from the supervisor of this process; null: there is none. */
export const takeSupervisor = async (): Promise<Supervisor | null> => {
  for (const take of takeSupervisors) {
    const supervisor = await take()
    if (supervisor !== null) return supervisor
  }
  return null
}
