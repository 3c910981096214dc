import { Alarm, wallClock } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import type { Log } from '../observe/log.ts'
import { networkOf } from '../shared/limiter/address.ts'
import { networks } from '../shared/networks.ts'
import type { ConnectionBound, TurnedAwayCounts } from '../snapshot/pressure.ts'
import { type IsTrusted, plain } from './peer.ts'

// What one customer has of IPv6.
const ipv6Prefix = 64

/** Counts connections by the address that they come from. A trusted proxy stands for all of its clients, and is not counted. */
export class Crowd {
  #most: number | null = null
  #isTrusted: IsTrusted = () => false
  readonly #present = new Map<string, number>()

  /** Takes over a bound. Connections that came while there was none are not counted. */
  bound({ maxConnectionsPerAddress, trustedProxies }: ListenConfig): void {
    this.#most = maxConnectionsPerAddress
    this.#isTrusted = networks(trustedProxies)
  }

  get isBounded(): boolean {
    return this.#most !== null
  }

  /** Counts a connection, and tells what it is counted by, for {@link leave}; null: by nothing. False: there are as many as may be. */
  enter(from: string | undefined): string | null | false {
    if (this.#most === null || from === undefined) return null
    const address = plain(from)
    if (this.#isTrusted(address)) return null
    const network = networkOf(address, ipv6Prefix)
    const present = this.#present.get(network) ?? 0
    if (present >= this.#most) return false
    this.#present.set(network, present + 1)
    return network
  }

  /** Counts one less. */
  leave(network: string): void {
    const left = (this.#present.get(network) ?? 0) - 1
    if (left > 0) this.#present.set(network, left)
    else this.#present.delete(network)
  }
}

const onceInMs = 1000

/** Tells the log of connections that were closed at once. */
export interface TurnedAway {
  /** Counts one, and tells of it: at once, or with others within a second. */
  count(): void
  /** Tells of those that were not told of yet. */
  close(): void
}

/** Begins to count connections that a setting has closed, in `counts` too. Whoever floods the listener must not flood the log as well. */
export const turnedAway = (
  log: Log,
  setting: ConnectionBound,
  counts: TurnedAwayCounts,
  more: { readonly worker?: number } = {},
): TurnedAway => {
  let untold = 0
  let waiting = false
  const tell = (): void => {
    waiting = untold > 0
    if (!waiting) return
    log.warn({ ...more, setting, connections: untold }, 'connections turned away')
    untold = 0
    alarm.set(onceInMs)
  }
  const alarm = new Alarm(tell)
  return {
    count() {
      counts[setting].count(wallClock())
      untold++
      if (!waiting) tell()
    },
    close() {
      tell()
      alarm.clear()
    },
  }
}
