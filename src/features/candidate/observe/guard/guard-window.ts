import { allOperations } from '../../../../operations.ts'
import type { GuardReport } from './guard-counts.ts'
import { addEvent, emptyTotals, type GuardEvent, type GuardTotals, readGuardKey } from './guard-key.ts'

export type GuardEvidence = GuardWindow['evidence']

export type OperationEvidence = GuardEvidence['operations'][number]

/** By key. */
type Counts = Map<number, number>

// Thirty windows with requests bridge a quiet night.
const maxEarlier = 30

// A batch is 1/60 of the window, so that memory does not grow with the processes.
const batchesOfWindow = 60

export const slicesOfWindow = 4

/** A sliding window of both sides, and the primary's earlier windows. */
export class GuardWindow {
  readonly #windowMs: number
  #era: string | null = null
  /** The oldest first. */
  #batches: { readonly at: number; readonly counts: Counts }[] = []
  readonly #waiting = new Map<string, readonly number[]>()
  /** Of the batches and the waiting requests. */
  readonly #counts: Counts = new Map()
  readonly #clients = new Set<number>()
  /** The primary's past windows by number, the oldest first. */
  readonly #earlier: { readonly number: number; readonly counts: Counts }[] = []
  readonly #earlierCounts: Counts = new Map()
  #advancedAt = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Starts again at a change of share. The primary's past stays known. */
  begin(era: string): void {
    if (era === this.#era) return
    this.#era = era
    for (const { at, counts } of this.#batches.splice(0)) this.#archive(at, counts)
    for (const each of [this.#waiting, this.#counts, this.#clients]) each.clear()
  }

  add(source: string, { era, counts, waiting }: GuardReport, at: number): void {
    if (era !== this.#era) return
    if (counts.length > 0) {
      const last = this.#batches.at(-1)
      const isSame = last !== undefined && at < last.at + this.#windowMs / batchesOfWindow
      const batch = isSame ? last : { at, counts: new Map<number, number>() }
      if (!isSame) this.#batches.push(batch)
      for (const [key, count] of pairsOf(counts)) {
        addCount(batch.counts, key, count)
        this.#apply(key, count)
      }
    }
    this.#setWaiting(source, waiting)
  }

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
      this.#archive(batch.at, batch.counts)
    }
  }

  /** `operation`: the index in `allOperations`. `clients`: cells under this share. */
  get evidence() {
    const primaries = totalsBy(this.#counts, ({ side, operation }) => (side === 'primary' ? operation : null))
    const candidates = totalsBy(this.#counts, ({ side, operation }) => (side === 'candidate' ? operation : null))
    const earlier = totalsBy(this.#earlierCounts, ({ operation }) => operation)
    const operations = allOperations.flatMap((_, operation) => {
      const candidate = candidates.get(operation)
      if (candidate === undefined || candidate.requests + candidate.timed === 0) return []
      const isOwn = (event: GuardEvent): boolean => event.side === 'candidate' && event.operation === operation
      return [
        {
          operation,
          primary: primaries.get(operation) ?? emptyTotals(),
          /** The primary's requests of up to 30 earlier windows. */
          earlier: earlier.get(operation) ?? emptyTotals(),
          candidate,
          /** The candidate's requests by client cell. */
          cells: () => totalsBy(this.#counts, (event) => (isOwn(event) ? event.cell : null)),
          /** The candidate's, by quarter of the window; fewer slices until it is full. */
          slices: () =>
            [...Map.groupBy(this.#batches, ({ at }) => this.#sliceAt(at)).values()].map((batches) => {
              const counts = batches.flatMap((batch) => [...batch.counts])
              return totalsBy(counts, (event) => (isOwn(event) ? 0 : null)).get(0) ?? emptyTotals()
            }),
        },
      ]
    })
    return { operations, clients: this.#clients.size }
  }

  #sliceAt(at: number): number {
    return Math.min(slicesOfWindow - 1, Math.trunc((slicesOfWindow * (this.#advancedAt - at)) / this.#windowMs))
  }

  #setWaiting(source: string, waiting: readonly number[]): void {
    for (const [key, count] of pairsOf(this.#waiting.get(source) ?? [])) this.#apply(key, -count)
    for (const [key, count] of pairsOf(waiting)) this.#apply(key, count)
    if (waiting.length === 0) this.#waiting.delete(source)
    else this.#waiting.set(source, waiting)
  }

  #apply(key: number, count: number): void {
    addCount(this.#counts, key, count)
    const { side, cell } = readGuardKey(key)
    if (side === 'candidate') this.#clients.add(cell)
  }

  /** Only the primary's. Windows without requests are not stored. */
  #archive(at: number, counts: Counts): void {
    const number = Math.trunc(at / this.#windowMs)
    for (const [key, count] of counts) {
      if (readGuardKey(key).side === 'candidate') continue
      if (this.#earlier.at(-1)?.number !== number) this.#earlier.push({ number, counts: new Map() })
      for (const each of [this.#earlier.at(-1)?.counts, this.#earlierCounts]) if (each) addCount(each, key, count)
    }
    if (this.#earlier.length <= maxEarlier) return
    for (const [key, count] of this.#earlier.shift()?.counts ?? []) addCount(this.#earlierCounts, key, -count)
  }
}

/** Of alternating keys and counts. */
const pairsOf = (list: readonly number[]): readonly (readonly [key: number, count: number])[] =>
  list.flatMap((key, i) => (i % 2 === 0 ? [[key, list[i + 1] as number] as const] : []))

const addCount = (counts: Counts, key: number, count: number): void => {
  const sum = (counts.get(key) ?? 0) + count
  if (sum === 0) counts.delete(key)
  else counts.set(key, sum)
}

/** Leaves out events whose group is null. */
const totalsBy = (counts: Iterable<readonly [number, number]>, groupOf: (event: GuardEvent) => number | null) => {
  const totals = new Map<number, GuardTotals>()
  for (const [key, count] of counts) {
    const event = readGuardKey(key)
    const group = groupOf(event)
    if (group === null) continue
    const each = totals.get(group) ?? emptyTotals()
    totals.set(group, each)
    addEvent(each, event, count)
  }
  return totals
}
