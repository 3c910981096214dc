import { allOperations, type Side } from '../../../operations.ts'
import type { GuardReport } from './guard-counts.ts'
import { cellCount, type GuardEvent, latencyBucketCount, readGuardKey } from './guard-key.ts'

/** What became of the requests of an operation at one side. */
export interface GuardTotals {
  /** Requests that came to an end at the side: with a head, or because it has failed them. */
  requests: number
  failed: number
  refused: number
  /** Requests whose time until the head is known, or is this long already. */
  timed: number
  /** The same by bucket of that time. */
  readonly buckets: number[]
}

/** What became of the requests of an operation at both sides. */
export interface OperationEvidence {
  /** Its place in the interface. */
  readonly operation: number
  readonly primary: GuardTotals
  /** The primary's requests of earlier windows, as many as there are. */
  readonly earlier: GuardTotals
  readonly candidate: GuardTotals
  /** Those of the candidate by the cell of their client. */
  cells(): ReadonlyMap<number, GuardTotals>
  /** Those of the candidate, a quarter of the window after the other; fewer while the window is not full. */
  slices(): readonly GuardTotals[]
}

/** What the requests of a group show of its candidate. */
export interface GuardEvidence {
  readonly operations: readonly OperationEvidence[]
  /** How many clients the candidate has had since the share is what it is, as cells count them. */
  readonly clients: number
}

interface Batch {
  readonly at: number
  readonly counts: readonly number[]
}

// Of earlier windows these are enough for a night.
const maxEarlier = 30

/** How many slices a window has. */
export const slicesOfWindow = 4

/** The last requests of one group at both its sides: those of a window that moves on, and the primary's before it. */
export class GuardWindow {
  readonly #windowMs: number
  #era: string | null = null
  /** What was counted, by when, the oldest first. */
  #batches: Batch[] = []
  /** What waits, by process. */
  readonly #waiting = new Map<string, readonly number[]>()
  #totals = createTotals()
  /** Keys of the candidate, and how often they came. */
  readonly #candidateKeys = new Map<number, number>()
  readonly #clients = new Set<number>()
  /** What the primary did in windows that are over, by their number, the oldest first. */
  #earlier: { readonly number: number; readonly totals: readonly GuardTotals[] }[] = []
  readonly #earlierTotals = createSideTotals()
  #advancedAt = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Begins anew when the share is another one. What the primary did before stays known. */
  begin(era: string): void {
    if (era === this.#era) return
    this.#era = era
    for (const batch of this.#batches) this.#archive(batch)
    this.#batches = []
    this.#waiting.clear()
    this.#totals = createTotals()
    this.#candidateKeys.clear()
    this.#clients.clear()
  }

  /** Adds what a process has counted. */
  add(source: string, { era, counts, waiting }: GuardReport, at: number): void {
    if (era !== this.#era) return
    if (counts.length > 0) {
      this.#batches.push({ at, counts })
      this.#apply(counts, 1)
    }
    this.#setWaiting(source, waiting)
  }

  /** Forgets what waits in a process that has ended. */
  forget(source: string): void {
    this.#setWaiting(source, [])
  }

  /** Lets time go by: what is older than the window counts no more. */
  advance(at: number): void {
    this.#advancedAt = at
    const fresh = this.#batches.findIndex((batch) => batch.at > at - this.#windowMs)
    const old = fresh < 0 ? this.#batches.length : fresh
    for (const batch of this.#batches.splice(0, old)) {
      this.#apply(batch.counts, -1)
      this.#archive(batch)
    }
  }

  /** What there is to judge by. */
  get evidence(): GuardEvidence {
    const operations = allOperations.flatMap((_, operation): readonly OperationEvidence[] => {
      const primary = this.#totals.primary[operation] as GuardTotals
      const candidate = this.#totals.candidate[operation] as GuardTotals
      const earlier = this.#earlierTotals[operation] as GuardTotals
      if (candidate.requests + candidate.timed === 0) return []
      return [
        {
          operation,
          primary,
          earlier,
          candidate,
          cells: () => this.#cellsOf(operation),
          slices: () => this.#slicesOf(operation),
        },
      ]
    })
    return { operations, clients: this.#clients.size }
  }

  #setWaiting(source: string, waiting: readonly number[]): void {
    this.#apply(this.#waiting.get(source) ?? [], -1)
    if (waiting.length === 0) this.#waiting.delete(source)
    else this.#waiting.set(source, waiting)
    this.#apply(waiting, 1)
  }

  #apply(counts: readonly number[], sign: 1 | -1): void {
    for (let i = 0; i < counts.length; i += 2) {
      const [key, count] = [counts[i] as number, sign * (counts[i + 1] as number)]
      const event = readGuardKey(key)
      addEvent(this.#totals[event.side][event.operation] as GuardTotals, event, count)
      if (event.side === 'primary') continue
      this.#clients.add(event.cell)
      const sum = (this.#candidateKeys.get(key) ?? 0) + count
      if (sum === 0) this.#candidateKeys.delete(key)
      else this.#candidateKeys.set(key, sum)
    }
  }

  /** Keeps what the primary did in a window that is over. One without requests is not worth keeping. */
  #archive({ at, counts }: Batch): void {
    const number = Math.trunc(at / this.#windowMs)
    for (let i = 0; i < counts.length; i += 2) {
      const event = readGuardKey(counts[i] as number)
      if (event.side === 'candidate') continue
      if (this.#earlier.at(-1)?.number !== number) this.#earlier.push({ number, totals: createSideTotals() })
      for (const totals of [this.#earlier.at(-1)?.totals ?? [], this.#earlierTotals])
        addEvent(totals[event.operation] as GuardTotals, event, counts[i + 1] as number)
    }
    if (this.#earlier.length > maxEarlier) subtractAll(this.#earlierTotals, this.#earlier.shift()?.totals ?? [])
  }

  #slicesOf(operation: number): readonly GuardTotals[] {
    const slices = new Map<number, GuardTotals>()
    for (const { at, counts } of this.#batches) {
      const slot = Math.min(slicesOfWindow - 1, Math.trunc((slicesOfWindow * (this.#advancedAt - at)) / this.#windowMs))
      const slice = slices.get(slot) ?? emptyTotals()
      slices.set(slot, slice)
      for (let i = 0; i < counts.length; i += 2) {
        const event = readGuardKey(counts[i] as number)
        const isOurs = event.operation === operation && event.side === 'candidate'
        if (isOurs) addEvent(slice, event, counts[i + 1] as number)
      }
    }
    return [...slices.values()]
  }

  #cellsOf(operation: number): ReadonlyMap<number, GuardTotals> {
    const cells = new Map<number, GuardTotals>()
    for (const [key, count] of this.#candidateKeys) {
      const event = readGuardKey(key)
      if (event.operation !== operation) continue
      const totals = cells.get(event.cell) ?? emptyTotals()
      cells.set(event.cell, totals)
      addEvent(totals, event, count)
    }
    return cells
  }
}

/** Returns the cell of a client, from its bucket. */
export const cellOf = (bucket: number): number => bucket % cellCount

const emptyTotals = (): GuardTotals => ({
  requests: 0,
  failed: 0,
  refused: 0,
  timed: 0,
  buckets: new Array(latencyBucketCount).fill(0),
})

const createSideTotals = (): readonly GuardTotals[] => allOperations.map(emptyTotals)

const createTotals = (): Readonly<Record<Side, readonly GuardTotals[]>> => ({
  primary: createSideTotals(),
  candidate: createSideTotals(),
})

const addEvent = (totals: GuardTotals, { outcome, isAnswered }: GuardEvent, count: number): void => {
  if (typeof outcome === 'number') {
    totals.timed += count
    totals.buckets[outcome] = (totals.buckets[outcome] as number) + count
    if (isAnswered) totals.requests += count
  } else if (outcome === 'late') totals.failed += count
  else {
    totals.requests += count
    totals[outcome] += count
  }
}

const subtractAll = (from: readonly GuardTotals[], others: readonly GuardTotals[]): void => {
  for (const [i, { requests, failed, refused, timed, buckets }] of others.entries()) {
    const totals = from[i] as GuardTotals
    totals.requests -= requests
    totals.failed -= failed
    totals.refused -= refused
    totals.timed -= timed
    for (const [bucket, count] of buckets.entries()) totals.buckets[bucket] = (totals.buckets[bucket] as number) - count
  }
}
