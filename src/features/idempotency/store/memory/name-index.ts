import { randomBytes } from 'node:crypto'

type HasName = (place: number, name: string) => boolean

const fewestSlots = 1024

/** Two typed arrays, without an object for each entry or name: `hasName` compares at the place. */
export const createNameIndex = (hasName: HasName) => {
  // Random: clients cannot choose keys that collide.
  const seed = randomBytes(4).readInt32LE()
  /** Open addressing; 0: a free slot. */
  let places = new Float64Array(fewestSlots)
  let hashes = new Uint32Array(fewestSlots)

  const slotOf = (name: string): number | null => {
    const last = places.length - 1
    const hash = hashName(name, seed)
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const place = places[slot] as number
      if (place === 0) return null
      if (hashes[slot] === hash && hasName(place, name)) return slot
    }
  }

  const put = (hash: number, place: number): void => {
    const last = places.length - 1
    let slot = hash & last
    while (places[slot] !== 0) slot = (slot + 1) & last
    places[slot] = place
    hashes[slot] = hash
  }

  /** Shifts back entries that collided with the slot. */
  const close = (slot: number): void => {
    const last = places.length - 1
    let free = slot
    for (let next = (free + 1) & last; places[next] !== 0; next = (next + 1) & last) {
      const wanted = (hashes[next] as number) & last
      if (((next - wanted) & last) < ((next - free) & last)) continue // it would stand before its own slot
      places[free] = places[next] as number
      hashes[free] = hashes[next] as number
      free = next
    }
    places[free] = 0
  }

  const resize = (slots: number): void => {
    const [oldPlaces, oldHashes] = [places, hashes]
    places = new Float64Array(slots)
    hashes = new Uint32Array(slots)
    for (let slot = 0; slot < oldPlaces.length; slot++) {
      const place = oldPlaces[slot] as number
      if (place !== 0) put(oldHashes[slot] as number, place)
    }
  }

  const index = {
    size: 0,
    get slots(): number {
      return places.length
    },
    find(name: string): number | null {
      const slot = slotOf(name)
      return slot === null ? null : (places[slot] as number)
    },
    /** For a name without a place. Places are above 0. */
    add(name: string, place: number): void {
      if (index.size * 2 >= places.length) resize(places.length * 2)
      put(hashName(name, seed), place)
      index.size++
    },
    delete(name: string): void {
      const slot = slotOf(name)
      if (slot === null) return
      index.size--
      close(slot)
      if (places.length > fewestSlots && index.size * 8 < places.length) resize(places.length / 2)
    },
    move(name: string, from: number, to: number): void {
      const last = places.length - 1
      let slot = hashName(name, seed) & last
      while (places[slot] !== from) slot = (slot + 1) & last
      places[slot] = to
    },
  }
  return index
}

/** FNV-1a with MurmurHash3's finalizer: every bit affects the low bits. */
const hashName = (name: string, seed: number): number => {
  let hash = seed
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
