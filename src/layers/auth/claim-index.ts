import type { Claims } from './claims.ts'

/** Is those who are known by the same claims: by `client_id`, or by `iss` and `sub`. */
interface Shelf<T> {
  readonly names: readonly string[]
  readonly owners: Map<string, T>
}

/** Finds owners by what tokens say, as fast with ten thousand as with ten. Who is known by more claims comes before who is known by fewer. */
export class ClaimIndex<T> {
  #shelves: readonly Shelf<T>[] = []

  /** Adds who is known by all of these; by none: nobody. */
  add(claims: Readonly<Record<string, string>>, owner: T): void {
    const names = Object.keys(claims).sort()
    const key = names.length === 0 ? null : keyOf(names, claims)
    if (key !== null) this.#shelf(names).owners.set(key, owner)
  }

  /** Finds whose claims these are; null: nobody's, or those of two who are known by as many: which of them is meant, nobody knows. */
  find(claims: Claims): T | null {
    let found: T | null = null
    let size = 0
    for (const { names, owners } of this.#shelves) {
      if (names.length < size) break
      const key = keyOf(names, claims)
      const owner = key === null ? undefined : owners.get(key)
      if (owner === undefined) continue
      if (found !== null) return null
      found = owner
      size = names.length
    }
    return found
  }

  #shelf(names: readonly string[]): Shelf<T> {
    const known = this.#shelves.find((shelf) => shelf.names.join() === names.join())
    if (known !== undefined) return known
    const shelf = { names, owners: new Map<string, T>() }
    this.#shelves = [...this.#shelves, shelf].sort((a, b) => b.names.length - a.names.length)
    return shelf
  }
}

/** Makes what is looked for; null: not all are there, as text. */
const keyOf = (names: readonly string[], claims: Claims): string | null => {
  const values = names.map((name) => (Object.hasOwn(claims, name) ? claims[name] : null))
  if (!values.every((value) => typeof value === 'string')) return null
  const [only] = values
  return values.length === 1 && only !== undefined ? only : JSON.stringify(values)
}
