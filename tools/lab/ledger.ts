/** A request that reached an endpoint, as far as it came. */
export interface LedgerEntry {
  readonly id: string
  readonly method: string
  readonly endpoint: string
  /** The SHA-256 of its body; null: the body did not arrive whole. */
  sha256: string | null
}

/**
 * Counts what the endpoints of one laboratory see, by the id that the client gave: what is seen twice may be processed
 * twice.
 */
export class Ledger {
  readonly #byId = new Map<string, LedgerEntry[]>()
  #count = 0

  /** Enters a request as soon as its head is there. */
  record(entry: LedgerEntry): LedgerEntry {
    const seen = this.#byId.get(entry.id)
    if (seen === undefined) this.#byId.set(entry.id, [entry])
    else seen.push(entry)
    this.#count++
    return entry
  }

  /** Lists where a request was seen. */
  entriesOf(id: string): readonly LedgerEntry[] {
    return this.#byId.get(id) ?? []
  }

  /** Forgets where a request was seen: for a run that is longer than a list of all would fit. */
  forget(id: string): void {
    this.#byId.delete(id)
  }

  /** How many requests were seen in all. */
  get count(): number {
    return this.#count
  }

  /** Lists what was seen more than once. */
  duplicates(method: string): readonly LedgerEntry[][] {
    return [...this.#byId.values()].filter((seen) => seen.length > 1 && seen[0]?.method === method)
  }

  /** How many an endpoint has seen. */
  seenBy(endpoint: string): number {
    let seen = 0
    for (const entries of this.#byId.values()) for (const each of entries) if (each.endpoint === endpoint) seen++
    return seen
  }
}
