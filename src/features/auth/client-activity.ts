import { epochMs } from '../../core/lib/clock.ts'
import { asBoolean, asList, asNullable, asNumber, asObject, asText, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import type { ExchangeObserver, ExchangeRecord } from '../../core/log/exchange-record.ts'
import { bucketBoundsMs, bucketIndex, type HistogramReport, quantile } from '../../core/log/metrics/histogram.ts'
import { isErrorOutcome, toStatusClass } from '../../core/log/metrics/request-metrics.ts'
import { createBoundedMap } from '../../core/log/rolling-counter.ts'
import { mergeBy, type NonEmpty, pluck, sumReports } from '../../core/log/sum-reports.ts'

interface ClientActivityRow {
  readonly client: string
  /** `limited`: 429. `rejected`: another 4xx, or a 5xx by the client's fault. `failed`: another 5xx, or cut short. */
  readonly counts: Readonly<Record<'requests' | ClientOutcome, number>>
  readonly latency: HistogramReport
  /** Milliseconds since the epoch. */
  readonly lastAt: number
  /** Of the last request. Null: its method has no key. */
  readonly keyId: string | null
}

type ClientOutcome = 'limited' | 'rejected' | 'failed'

export interface ClientActivityReport {
  /** Clients with the most errors first. */
  readonly rows: readonly ClientActivityRow[]
  readonly isComplete: boolean
}

const sliceMs = 60_000
const sliceCount = 15
const maxTracked = 500

export class ClientActivity implements ExchangeObserver {
  readonly name = 'clients'
  readonly #clients = createBoundedMap<ClientWindow>(maxTracked, (window, at) => window.isStale(at))
  #leftOutAt = Number.NEGATIVE_INFINITY

  record(record: ExchangeRecord): void {
    const identity = record.exchange?.identity ?? null
    if (identity === null) return
    const at = epochMs()
    const outcome = classifyOutcome(record)
    const window = this.#clients.get(identity.client) ?? this.#follow(identity.client, outcome, at)
    window?.count(record, outcome, identity.keyId, at)
  }

  get report(): ClientActivityReport {
    const at = epochMs()
    const rows = this.#clients
      .values()
      .filter((window) => !window.isStale(at))
      .map((window) => window.report(at))
    return { rows: worstFirst(rows), isComplete: at - this.#leftOutAt >= sliceCount * sliceMs }
  }

  /** Null: no room. A failing client replaces a client without errors. */
  #follow(client: string, outcome: ClientOutcome | null, at: number): ClientWindow | null {
    const window = new ClientWindow(client)
    if (this.#clients.add(client, window, at)) return window
    this.#leftOutAt = at
    const other = outcome === null ? undefined : this.#clients.values().find((each) => each.faresWell(at))
    if (other === undefined) return null
    this.#clients.delete(other.client)
    return this.#clients.add(client, window, at) ? window : null
  }
}

const classifyOutcome = ({ status, failure }: ExchangeRecord): ClientOutcome | null => {
  // A response that was cut short has the status of its head.
  if (isErrorOutcome(toStatusClass(status), failure?.kind ?? null)) return 'failed'
  if (status < 400) return null
  return status === 429 ? 'limited' : 'rejected'
}

export const mergeClientActivity = (each: readonly ClientActivityReport[]): ClientActivityReport => {
  const all = each.flatMap(({ rows }) => rows)
  const rows = mergeBy(all, ({ client }) => client, mergeRows)
  return { rows: worstFirst(rows), isComplete: each.every(({ isComplete }) => isComplete) }
}

const mergeRows = (same: NonEmpty<ClientActivityRow>): ClientActivityRow => ({
  ...same.reduce((last, row) => (row.lastAt > last.lastAt ? row : last)),
  counts: sumReports(same[0].counts, pluck(same, 'counts')),
  latency: sumReports(same[0].latency, pluck(same, 'latency')),
})

const worstFirst = (rows: readonly ClientActivityRow[]): readonly ClientActivityRow[] =>
  rows.toSorted(({ counts: a, ...one }, { counts: b, ...other }) => {
    return b.failed - a.failed || b.limited - a.limited || b.rejected - a.rejected || other.lastAt - one.lastAt
  })

// The columns before the buckets of the histogram.
const places = { requests: 0, limited: 1, rejected: 2, failed: 3, totalMs: 4 } as const
const firstBucket = Object.keys(places).length
const sliceWidth = firstBucket + bucketBoundsMs.length + 1

/** One client's last fifteen minutes, a slice a minute. All numbers are in one array: no object for each slice. */
class ClientWindow {
  readonly client: string
  readonly #numbers = new Float64Array(sliceCount * sliceWidth)
  /** The minute since the epoch that each slice counts. */
  readonly #minutes: number[] = new Array(sliceCount).fill(-sliceCount)
  #lastAt = 0
  #lastBadAt = 0
  #keyId: string | null = null

  constructor(client: string) {
    this.client = client
  }

  isStale(at: number): boolean {
    return isOver(this.#lastAt, at)
  }

  faresWell(at: number): boolean {
    return isOver(this.#lastBadAt, at)
  }

  count({ totalMs }: ExchangeRecord, outcome: ClientOutcome | null, keyId: string | null, at: number): void {
    const minute = Math.trunc(at / sliceMs)
    const slice = minute % sliceCount
    const from = slice * sliceWidth
    if (this.#minutes[slice] !== minute) {
      this.#minutes[slice] = minute
      this.#numbers.fill(0, from, from + sliceWidth)
    }
    this.#add(from + places.requests, 1)
    this.#add(from + places.totalMs, totalMs)
    this.#add(from + firstBucket + bucketIndex(totalMs), 1)
    if (outcome !== null) {
      this.#add(from + places[outcome], 1)
      this.#lastBadAt = at
    }
    this.#lastAt = at
    this.#keyId = keyId
  }

  report(at: number): ClientActivityRow {
    const minute = Math.trunc(at / sliceMs)
    // One array, because a serving process does this for hundreds of clients.
    const totals: number[] = new Array(sliceWidth).fill(0)
    const numbers = this.#numbers
    for (let slice = 0; slice < sliceCount; slice++) {
      const counted = this.#minutes[slice] as number
      if (counted <= minute - sliceCount || counted > minute) continue
      const from = slice * sliceWidth
      for (let place = 0; place < sliceWidth; place++)
        totals[place] = (totals[place] as number) + (numbers[from + place] as number)
    }
    const [requests = 0, limited = 0, rejected = 0, failed = 0, sumMs = 0, ...buckets] = totals
    return {
      client: this.client,
      counts: { requests, limited, rejected, failed },
      latency: { counts: buckets, sumMs },
      lastAt: this.#lastAt,
      keyId: this.#keyId,
    }
  }

  #add(place: number, amount: number): void {
    this.#numbers[place] = (this.#numbers[place] as number) + amount
  }
}

/** A clock that was set back leaves `time` in the future. */
const isOver = (time: number, at: number): boolean =>
  Math.abs(Math.trunc(at / sliceMs) - Math.trunc(time / sliceMs)) >= sliceCount

const clientActivityRowShape = asObject({
  client: asText,
  requests: asNumber,
  limited: asNumber,
  rejected: asNumber,
  failed: asNumber,
  /** Milliseconds, to the last byte. Null: no request. */
  p50: asNullable(asNumber),
  p99: asNullable(asNumber),
  lastAt: asText,
  keyId: asNullable(asText),
})

export const clientActivityShape = asObject({
  /** At most 100, clients with the most errors first. */
  rows: asList(clientActivityRowShape),
  seen: asNumber,
  /** Null: a gateway of an earlier version does not report it. */
  complete: asNullable(asBoolean),
})

const maxRows = 100

export type ClientActivityView = Decoded<typeof clientActivityShape>

export const toClientActivityView = ({ rows, isComplete }: ClientActivityReport): ClientActivityView => ({
  rows: rows.slice(0, maxRows).map(toRowView),
  seen: rows.length,
  complete: isComplete,
})

const toRowView = ({ client, counts, latency, lastAt, keyId }: ClientActivityRow) => ({
  client,
  ...counts,
  p50: quantile(latency, 0.5),
  p99: quantile(latency, 0.99),
  lastAt: formatTime(lastAt),
  keyId,
})
