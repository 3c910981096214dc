import { rememberedStreams } from './connection-memory.ts'

/** `gateway`: reset by the gateway. The client may not know yet, so its frames are ignored. */
export type ClosedBy = 'both' | 'gateway' | 'client'

const codes: Readonly<Record<ClosedBy, number>> = { both: 1, gateway: 2, client: 3 }
const words: readonly ClosedBy[] = ['both', 'gateway', 'client']

/** The last closed streams of a connection, in memory of a fixed size. */
export class ClosedStreams {
  readonly #ids = new Uint32Array(rememberedStreams)
  readonly #codes = new Uint8Array(rememberedStreams)

  add(id: number, by: ClosedBy): void {
    const slot = slotOf(id)
    this.#ids[slot] = id
    this.#codes[slot] = codes[by]
  }

  /** Null: closed long ago, or never opened (RFC 9113 §5.1.1). */
  find(id: number): ClosedBy | null {
    const slot = slotOf(id)
    return this.#ids[slot] === id ? (words[(this.#codes[slot] as number) - 1] ?? null) : null
  }
}

/** Clients use odd ids. */
const slotOf = (id: number): number => (id >>> 1) % rememberedStreams
