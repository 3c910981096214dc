import { rememberedStreams } from './connection-memory.ts'

/** How a stream has closed. A client may not know yet that the gateway has reset it: its frames are ignored. */
export type ClosedBy = 'both' | 'gateway' | 'client'

const codes: Readonly<Record<ClosedBy, number>> = { both: 1, gateway: 2, client: 3 }
const words: readonly ClosedBy[] = ['both', 'gateway', 'client']

/** The last streams of a connection that have closed, in memory of a fixed size. */
export class ClosedStreams {
  readonly #ids = new Uint32Array(rememberedStreams)
  readonly #codes = new Uint8Array(rememberedStreams)

  add(id: number, by: ClosedBy): void {
    const slot = slotOf(id)
    this.#ids[slot] = id
    this.#codes[slot] = codes[by]
  }

  /** Null: it has closed long ago, or was never opened (RFC 9113 §5.1.1). */
  find(id: number): ClosedBy | null {
    const slot = slotOf(id)
    return this.#ids[slot] === id ? (words[(this.#codes[slot] as number) - 1] ?? null) : null
  }
}

/** Ids of clients are odd. */
const slotOf = (id: number): number => (id >>> 1) % rememberedStreams
