import { randomBytes } from 'node:crypto'

type HasName = (place: number, name: string) => boolean

const fewestSlots = 1024

/** Two typed arrays, without an object per entry or a name: `hasName` compares at the place. */
export class NameIndex {
  readonly #hasName: HasName
  // So that clients cannot choose keys that collide.
  readonly #seed = randomBytes(4).readInt32LE()
  /** Open addressing; 0: a free slot. */
  #places = new Float64Array(fewestSlots)
  #hashes = new Uint32Array(fewestSlots)
  #size = 0

  constructor(hasName: HasName) {
    this.#hasName = hasName
  }

  get size(): number {
    return this.#size
  }

  get slots(): number {
    return this.#places.length
  }

  find(name: string): number | null {
    const slot = this.#slotOf(name)
    return slot === null ? null : (this.#places[slot] as number)
  }

  /** The name must have no place. Places are above 0. */
  add(name: string, place: number): void {
    if (this.#size * 2 >= this.#places.length) this.#resize(this.#places.length * 2)
    this.#put(this.#hash(name), place)
    this.#size++
  }

  /** The entry must still be in its place. */
  delete(name: string): void {
    const slot = this.#slotOf(name)
    if (slot === null) return
    this.#size--
    this.#close(slot)
    if (this.#places.length > fewestSlots && this.#size * 8 < this.#places.length) this.#resize(this.#places.length / 2)
  }

  /** The entry at `from` may be gone already. */
  move(name: string, from: number, to: number): void {
    const last = this.#places.length - 1
    let slot = this.#hash(name) & last
    while (this.#places[slot] !== from) slot = (slot + 1) & last
    this.#places[slot] = to
  }

  #slotOf(name: string): number | null {
    const last = this.#places.length - 1
    const hash = this.#hash(name)
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const place = this.#places[slot] as number
      if (place === 0) return null
      if (this.#hashes[slot] === hash && this.#hasName(place, name)) return slot
    }
  }

  #put(hash: number, place: number): void {
    const last = this.#places.length - 1
    let slot = hash & last
    while (this.#places[slot] !== 0) slot = (slot + 1) & last
    this.#places[slot] = place
    this.#hashes[slot] = hash
  }

  /** Shifts back entries that collided with the slot. */
  #close(slot: number): void {
    const last = this.#places.length - 1
    let free = slot
    for (let next = (free + 1) & last; this.#places[next] !== 0; next = (next + 1) & last) {
      const wanted = (this.#hashes[next] as number) & last
      if (((next - wanted) & last) < ((next - free) & last)) continue // it would stand before its own slot
      this.#places[free] = this.#places[next] as number
      this.#hashes[free] = this.#hashes[next] as number
      free = next
    }
    this.#places[free] = 0
  }

  #resize(slots: number): void {
    const [places, hashes] = [this.#places, this.#hashes]
    this.#places = new Float64Array(slots)
    this.#hashes = new Uint32Array(slots)
    for (let slot = 0; slot < places.length; slot++) {
      const place = places[slot] as number
      if (place !== 0) this.#put(hashes[slot] as number, place)
    }
  }

  /** FNV-1a with MurmurHash3's finalizer: every bit affects the low bits. */
  #hash(name: string): number {
    let hash = this.#seed
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    return (hash ^ (hash >>> 16)) >>> 0
  }
}
