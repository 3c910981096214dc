import { allOperations, type Operation } from '../../../src/operations.ts'
import type { Options } from '../options.ts'
import type { Running } from '../process.ts'
import type { Fields } from '../workload.ts'

/** Where a peer runs. */
export interface Site {
  readonly upstreamPort: number
  /** An empty directory of the peer's own. */
  readonly directory: string
  readonly options: Options
}

/** Puts one proxy in front of the upstream. */
export interface Peer {
  readonly name: string
  /** Says in a few words how it is configured, for the table. */
  readonly description: string
  /** True for a peer that runs only when `--only` names it. */
  readonly onRequest: boolean
  /**
   * True for one that writes no access log, to show what the log costs; it has no other than the statuses to show that
   * it served.
   */
  readonly quiet?: boolean
  /** Makes the credential of a request to one that authenticates clients, beside the fields of the workload. */
  readonly brings?: (running: Running) => (operation: Operation) => Fields
  /** Starts it; gives the reason when it is not on this machine. Throws when it is and does not start. */
  readonly start: (site: Site) => Promise<Running | { readonly missing: string }>
}

/** Names the GET by whose response a peer is seen to serve. */
export const probePath = allOperations.find(({ method }) => method === 'GET')?.path ?? '/'
