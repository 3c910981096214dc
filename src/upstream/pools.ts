import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { preferring } from './addresses.ts'
import type { Connection } from './connection.ts'
import { Pool } from './pool.ts'

/**
 * Keeps the pools of one endpoint: one for each address that its name has, taken in turn, so that the traffic is spread over all of them
 * and not over those that were connected to first. Until the addresses are known, and of a plain address, there is one.
 */
export class Pools {
  readonly #open: (lookup?: LookupFunction) => () => Connection
  /** Those that still finish something included. */
  readonly #all = new Set<Pool>()
  #addresses: readonly LookupAddress[] = []
  #byAddress = new Map<string, Pool>()
  #inTurn: readonly Pool[]
  #turn = 0

  constructor(open: (lookup?: LookupFunction) => () => Connection) {
    this.#open = open
    this.#inTurn = [this.#add()]
  }

  /** Takes the next one. */
  next(): Pool {
    if (this.#inTurn.length > 1) this.#turn = (this.#turn + 1) % this.#inTurn.length
    return this.#inTurn[this.#turn] as Pool
  }

  /** Finds the address whose turn it is for a connection outside of the pools; undefined: the system's resolver is asked. */
  get lookup(): LookupFunction | undefined {
    const address = this.#addresses[this.#turn]
    return address === undefined ? undefined : preferring(address, this.#addresses)
  }

  /** Goes over to these addresses, one at least. Pools of those that stay are kept; the others finish what they have. */
  spread(addresses: readonly LookupAddress[]): void {
    const before = this.#inTurn
    this.#addresses = addresses
    this.#byAddress = new Map(
      addresses.map((each) => [
        each.address,
        this.#byAddress.get(each.address) ?? this.#add((...asked) => preferring(each, this.#addresses)(...asked)),
      ]),
    )
    this.#inTurn = [...this.#byAddress.values()]
    this.#turn = 0
    for (const pool of before) if (!this.#inTurn.includes(pool)) void this.#close(pool)
  }

  /** Finishes what runs, then closes every connection. Resolves as well when it has been cut in the meantime. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((pool) => this.#close(pool)))
  }

  /** Cuts every connection. */
  async destroy(reason: Error): Promise<void> {
    await Promise.all([...this.#all].map((pool) => pool.destroy(reason)))
  }

  #add(lookup?: LookupFunction): Pool {
    const pool = new Pool(this.#open(lookup))
    this.#all.add(pool)
    return pool
  }

  async #close(pool: Pool): Promise<void> {
    await pool.close()
    this.#all.delete(pool)
  }
}
