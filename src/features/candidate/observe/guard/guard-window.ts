import { allOperations } from '../../../../operations.ts'
import type { GuardReport } from './guard-counts.ts'
import { addEvent, emptyTotals, type GuardEvent, type GuardTotals, readGuardKey } from './guard-key.ts'

export type GuardEvidence = GuardWindow['evidence']

export type OperationEvidence = GuardEvidence['operations'][number]

type Counts = Map<number, number>

// Thirty windows with requests bridge a quiet night.
const maxEarlier = 30

// A batch is 1/60 of the window, so that memory does not grow with the processes.
const batchesOfWindow = 60

export const slicesOfWindow = 4

export class GuardWindow {
  readonly #windowMs: number
  #era: string | null = null
  #batches: { readonly at: number; readonly counts: Counts }[] = []
  readonly #waiting = new Map<string, readonly number[]>()
  #totals = { primary: createTotals(), candidate: createTotals() }
  readonly #candidateCounts: Counts = new Map()
  readonly #clients = new Set<number>()
  readonly #earlier: { readonly number: number; readonly counts: Counts }[] = []
  readonly #earlierTotals = createTotals()
  #advancedAt = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Starts again at a change of share. The primary's past stays known. */
  begin(era: string): void {
    if (era === this.#era) return
    this.#era = era
    for (const { at, counts } of this.#batches.splice(0)) this.#archive(at, counts)
    this.#totals = { primary: createTotals(), candidate: createTotals() }
    for (const each of [this.#waiting, this.#candidateCounts, this.#clients]) each.clear()
  }

  add(source: string, { era, counts, waiting }: GuardReport, at: number): void {
    if (era !== this.#era) return
    if (counts.length > 0) {
      const last = this.#batches.at(-1)
      const isSame = last !== undefined && at < last.at + this.#windowMs / batchesOfWindow
      const batch = isSame ? last : { at, counts: new Map<number, number>() }
      if (!isSame) this.#batches.push(batch)
      for (let i = 0; i < counts.length; i += 2) addCount(batch.counts, counts[i] as number, counts[i + 1] as number)
      this.#applyAll(counts, 1)
    }
    this.#setWaiting(source, waiting)
  }

  forget(source: string): void {
    this.#setWaiting(source, [])
  }

  advance(at: number): void {
    this.#advancedAt = at
    const fresh = this.#batches.findIndex((batch) => batch.at > at - this.#windowMs)
    const old = fresh < 0 ? this.#batches.length : fresh
    for (const batch of this.#batches.splice(0, old)) {
      for (const [key, count] of batch.counts) this.#apply(key, -count)
      this.#archive(batch.at, batch.counts)
    }
  }

  /** `clients`: cells under this share. */
  get evidence() {
    const operations = allOperations.flatMap((_, operation) => {
      const candidate = this.#totals.candidate[operation] as GuardTotals
      if (candidate.requests + candidate.timed === 0) return []
      return [
        {
          operation,
          primary: this.#totals.primary[operation] as GuardTotals,
          earlier: this.#earlierTotals[operation] as GuardTotals,
          candidate,
          cells: () => {
            const cells = new Map<number, GuardTotals>()
            addOwn(this.#candidateCounts, operation, ({ cell }) => totalsOf(cells, cell))
            return cells
          },
          /** The candidate's, by quarter of the window; fewer slices until it is full. */
          slices: () => {
            const slices = new Map<number, GuardTotals>()
            for (const { at, counts } of this.#batches) {
              const slice = totalsOf(slices, this.#sliceAt(at))
              addOwn(counts, operation, () => slice)
            }
            return [...slices.values()]
          },
        },
      ]
    })
    return { operations, clients: this.#clients.size }
  }

  #sliceAt(at: number): number {
    return Math.min(slicesOfWindow - 1, Math.trunc((slicesOfWindow * (this.#advancedAt - at)) / this.#windowMs))
  }

  #setWaiting(source: string, waiting: readonly number[]): void {
    this.#applyAll(this.#waiting.get(source) ?? [], -1)
    this.#applyAll(waiting, 1)
    if (waiting.length === 0) this.#waiting.delete(source)
    else this.#waiting.set(source, waiting)
  }

  #applyAll(list: readonly number[], times: 1 | -1): void {
    for (let i = 0; i < list.length; i += 2) this.#apply(list[i] as number, times * (list[i + 1] as number))
  }

  #apply(key: number, count: number): void {
    const event = readGuardKey(key)
    addEvent(this.#totals[event.side][event.operation] as GuardTotals, event, count)
    if (event.side === 'primary') return
    this.#clients.add(event.cell)
    addCount(this.#candidateCounts, key, count)
  }

  /** Only the primary's. */
  #archive(at: number, counts: Counts): void {
    const number = Math.trunc(at / this.#windowMs)
    for (const [key, count] of counts) {
      const event = readGuardKey(key)
      if (event.side === 'candidate') continue
      if (this.#earlier.at(-1)?.number !== number) this.#earlier.push({ number, counts: new Map() })
      addCount(this.#earlier.at(-1)?.counts as Counts, key, count)
      addEvent(this.#earlierTotals[event.operation] as GuardTotals, event, count)
    }
    if (this.#earlier.length <= maxEarlier) return
    for (const [key, count] of this.#earlier.shift()?.counts ?? []) {
      const event = readGuardKey(key)
      addEvent(this.#earlierTotals[event.operation] as GuardTotals, event, -count)
    }
  }
}

const createTotals = (): readonly GuardTotals[] => allOperations.map(emptyTotals)

const addCount = (counts: Counts, key: number, count: number): void => {
  const sum = (counts.get(key) ?? 0) + count
  if (sum === 0) counts.delete(key)
  else counts.set(key, sum)
}

const totalsOf = (totals: Map<number, GuardTotals>, group: number): GuardTotals => {
  const each = totals.get(group) ?? emptyTotals()
  totals.set(group, each)
  return each
}

const addOwn = (counts: Counts, operation: number, totalsFor: (event: GuardEvent) => GuardTotals): void => {
  for (const [key, count] of counts) {
    const event = readGuardKey(key)
    if (event.side === 'candidate' && event.operation === operation) addEvent(totalsFor(event), event, count)
  }
}
