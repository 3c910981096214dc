import { randomBytes } from 'node:crypto'

type HasName = (place: number, name: string) => boolean

const fewestSlots = 1024

/**
 * Where the entry of each name is, in two arrays of numbers: nothing in it is an object of its own. It has no names.
 * It asks where an entry is found.
 */
export class NameIndex {
  readonly #hasName: HasName
  // No client can choose keys that fall into one slot.
  readonly #seed = randomBytes(4).readInt32LE()
  /** The places, each in the slot of its hash or in the next that was free; 0: a free slot. */
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

  /** Adds a name that has no place. A place is above 0. */
  add(name: string, place: number): void {
    if (this.#size * 2 >= this.#places.length) this.#resize(this.#places.length * 2)
    this.#put(this.#hash(name), place)
    this.#size++
  }

  /** Removes a name, if it has a place. Its entry must still be there. */
  delete(name: string): void {
    const slot = this.#slotOf(name)
    if (slot === null) return
    this.#size--
    this.#close(slot)
    if (this.#places.length > fewestSlots && this.#size * 8 < this.#places.length) this.#resize(this.#places.length / 2)
  }

  /** Changes the place of a name from `from`, where its entry need not be any more. */
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

  /** Frees a slot, and moves those that were put behind it for want of theirs. */
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

  /** FNV-1a over the characters, and the last step of MurmurHash3: each bit of a name changes the low bits too. */
  #hash(name: string): number {
    let hash = this.#seed
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    return (hash ^ (hash >>> 16)) >>> 0
  }
}
