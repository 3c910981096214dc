import { allOperations } from '../../../../operations.ts'
import type { GuardReport } from './guard-counts.ts'
import {
  addEvent,
  createGuardTotals,
  createSideTotals,
  emptyTotals,
  type GuardTotals,
  readGuardKey,
  subtractAll,
} from './guard-key.ts'

export interface OperationEvidence {
  /** The index in `allOperations`. */
  readonly operation: number
  readonly primary: GuardTotals
  /** The primary's requests of up to 30 earlier windows. */
  readonly earlier: GuardTotals
  readonly candidate: GuardTotals
  /** The candidate's requests by client cell. */
  cells(): ReadonlyMap<number, GuardTotals>
  /** The candidate's, by quarter of the window; fewer slices until it is full. */
  slices(): readonly GuardTotals[]
}

export interface GuardEvidence {
  readonly operations: readonly OperationEvidence[]
  /** By cell, under this share. */
  readonly clients: number
}

/** 1/60 of the window, so that memory does not grow with the processes. */
interface Batch {
  readonly at: number
  readonly counts: Map<number, number>
}

// Thirty windows with requests bridge a quiet night.
const maxEarlier = 30

const batchesOfWindow = 60

export const slicesOfWindow = 4

/** A sliding window of both sides, and the primary's earlier windows. */
export class GuardWindow {
  readonly #windowMs: number
  #era: string | null = null
  /** The oldest first. */
  #batches: Batch[] = []
  readonly #waiting = new Map<string, readonly number[]>()
  #totals = createGuardTotals()
  /** The candidate's keys with their counts. */
  readonly #candidateKeys = new Map<number, number>()
  readonly #clients = new Set<number>()
  /** The primary's past windows by number, the oldest first. */
  #earlier: { readonly number: number; readonly totals: readonly GuardTotals[] }[] = []
  readonly #earlierTotals = createSideTotals()
  #advancedAt = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Starts again at a change of share. The primary's past stays known. */
  begin(era: string): void {
    if (era === this.#era) return
    this.#era = era
    for (const batch of this.#batches) this.#archive(batch)
    this.#batches = []
    this.#waiting.clear()
    this.#totals = createGuardTotals()
    this.#candidateKeys.clear()
    this.#clients.clear()
  }

  add(source: string, { era, counts, waiting }: GuardReport, at: number): void {
    if (era !== this.#era) return
    if (counts.length > 0) this.#addCounts(counts, at)
    this.#setWaiting(source, waiting)
  }

  /** Forgets the waiting requests of a process that has ended. */
  forget(source: string): void {
    this.#setWaiting(source, [])
  }

  /** Drops counts older than the window. */
  advance(at: number): void {
    this.#advancedAt = at
    const fresh = this.#batches.findIndex((batch) => batch.at > at - this.#windowMs)
    const old = fresh < 0 ? this.#batches.length : fresh
    for (const batch of this.#batches.splice(0, old)) {
      for (const [key, count] of batch.counts) this.#apply(key, -count)
      this.#archive(batch)
    }
  }

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

  #addCounts(counts: readonly number[], at: number): void {
    const last = this.#batches.at(-1)
    const isSame = last !== undefined && at < last.at + this.#windowMs / batchesOfWindow
    const batch = isSame ? last : { at, counts: new Map<number, number>() }
    if (!isSame) this.#batches.push(batch)
    for (let i = 0; i < counts.length; i += 2) {
      const [key, count] = [counts[i] as number, counts[i + 1] as number]
      batch.counts.set(key, (batch.counts.get(key) ?? 0) + count)
      this.#apply(key, count)
    }
  }

  #setWaiting(source: string, waiting: readonly number[]): void {
    const before = this.#waiting.get(source) ?? []
    for (let i = 0; i < before.length; i += 2) this.#apply(before[i] as number, -(before[i + 1] as number))
    for (let i = 0; i < waiting.length; i += 2) this.#apply(waiting[i] as number, waiting[i + 1] as number)
    if (waiting.length === 0) this.#waiting.delete(source)
    else this.#waiting.set(source, waiting)
  }

  #apply(key: number, count: number): void {
    const event = readGuardKey(key)
    addEvent(this.#totals[event.side][event.operation] as GuardTotals, event, count)
    if (event.side === 'primary') return
    this.#clients.add(event.cell)
    const sum = (this.#candidateKeys.get(key) ?? 0) + count
    if (sum === 0) this.#candidateKeys.delete(key)
    else this.#candidateKeys.set(key, sum)
  }

  /** Only the primary's. Windows without requests are not stored. */
  #archive({ at, counts }: Batch): void {
    const number = Math.trunc(at / this.#windowMs)
    for (const [key, count] of counts) {
      const event = readGuardKey(key)
      if (event.side === 'candidate') continue
      if (this.#earlier.at(-1)?.number !== number) this.#earlier.push({ number, totals: createSideTotals() })
      for (const totals of [this.#earlier.at(-1)?.totals ?? [], this.#earlierTotals])
        addEvent(totals[event.operation] as GuardTotals, event, count)
    }
    if (this.#earlier.length > maxEarlier) subtractAll(this.#earlierTotals, this.#earlier.shift()?.totals ?? [])
  }

  #slicesOf(operation: number): readonly GuardTotals[] {
    const slices = new Map<number, GuardTotals>()
    for (const { at, counts } of this.#batches) {
      const slot = Math.min(slicesOfWindow - 1, Math.trunc((slicesOfWindow * (this.#advancedAt - at)) / this.#windowMs))
      const slice = slices.get(slot) ?? emptyTotals()
      slices.set(slot, slice)
      for (const [key, count] of counts) {
        const event = readGuardKey(key)
        if (event.operation === operation && event.side === 'candidate') addEvent(slice, event, count)
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
