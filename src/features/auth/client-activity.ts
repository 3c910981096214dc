import { epochMs } from '../../core/lib/clock.ts'
import { asBoolean, asList, asNullable, asNumber, asObject, asText, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import type { ExchangeObserver, ExchangeRecord } from '../../core/log/exchange-record.ts'
import { bucketBoundsMs, bucketIndex, type HistogramReport, quantile } from '../../core/log/metrics/histogram.ts'
import { isErrorOutcome, toStatusClass } from '../../core/log/metrics/request-metrics.ts'
import { BoundedMap } from '../../core/log/rolling-counter.ts'
import { mergeBy, type NonEmpty, pluck, sumReports } from '../../core/log/sum-reports.ts'

/** What became of the requests of a client that was authenticated, over the last fifteen minutes. */
export interface ClientActivityRow {
  /** Its id in `clients`. */
  readonly client: string
  readonly counts: ClientCounts
  /** How long they took, from the first byte of the request to the last of the response. */
  readonly latency: HistogramReport
  /** When the last one ended, in milliseconds since the epoch. */
  readonly lastAt: number
  /** The id of the key that it came with. Null: the method has none. */
  readonly keyId: string | null
}

/** How many requests there were, and how many of them did not go well. */
interface ClientCounts {
  readonly requests: number
  /** Answered 429. */
  readonly limited: number
  /** Answered with another 4xx, or rejected with a 5xx for what the client did. */
  readonly rejected: number
  /** Answered with another 5xx, or cut short. */
  readonly failed: number
}

export interface ClientActivityReport {
  /** The ones that fare worst first. */
  readonly rows: readonly ClientActivityRow[]
  /** Whether every client is followed that has come. */
  readonly isComplete: boolean
}

const sliceMs = 60_000
const sliceCount = 15
const maxTracked = 500

export class ClientActivity implements ExchangeObserver {
  readonly name = 'clients'
  readonly #clients = new BoundedMap<ClientWindow>(maxTracked, (window, at) => window.isStale(at))
  /** When a client was last left out for want of room. */
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
    const rows = this.#clients.values.filter((window) => !window.isStale(at)).map((window) => window.report(at))
    return { rows: worstFirst(rows), isComplete: at - this.#leftOutAt >= sliceCount * sliceMs }
  }

  /** Follows one more client; null: there is no room. One that fares badly takes the room of one that fares well. */
  #follow(client: string, outcome: ClientOutcome | null, at: number): ClientWindow | null {
    const window = new ClientWindow(client)
    if (this.#clients.add(client, window, at)) return window
    this.#leftOutAt = at
    const other = outcome === null ? undefined : this.#clients.values.find((each) => each.faresWell(at))
    if (other === undefined) return null
    this.#clients.delete(other.client)
    return this.#clients.add(client, window, at) ? window : null
  }
}

/** What did not go well of a request; null: it did. */
type ClientOutcome = Exclude<keyof ClientCounts, 'requests'>

const classifyOutcome = ({ status, failure }: ExchangeRecord): ClientOutcome | null => {
  // A response that was cut short has the status of its head.
  if (isErrorOutcome(toStatusClass(status), failure?.kind ?? null)) return 'failed'
  if (status < 400) return null
  return status === 429 ? 'limited' : 'rejected'
}

export const mergeClientActivity = (each: readonly ClientActivityReport[]): ClientActivityReport => {
  const rows = mergeBy(
    each.flatMap((one) => one.rows),
    ({ client }) => client,
    mergeRows,
  )
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

// What a slice counts, before the buckets of its histogram.
const places = { requests: 0, limited: 1, rejected: 2, failed: 3, totalMs: 4 } as const
const firstBucket = Object.keys(places).length
const bucketCount = bucketBoundsMs.length + 1
const sliceWidth = firstBucket + bucketCount

/** The last fifteen minutes of one client, a minute to a slice: numbers in one array, no object for each. */
class ClientWindow {
  readonly client: string
  readonly #numbers = new Float64Array(sliceCount * sliceWidth)
  /** Which minute since the epoch each slice counts. */
  readonly #minutes: number[] = new Array(sliceCount).fill(-sliceCount)
  #lastAt = 0
  #lastBadAt = 0
  #keyId: string | null = null

  constructor(client: string) {
    this.client = client
  }

  /** Whether its last request is in no slice of the last fifteen minutes any more. */
  isStale(at: number): boolean {
    return isOver(this.#lastAt, at)
  }

  /** Whether all its requests went well, of the last fifteen minutes. */
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
    // In loops over one array: a process that serves clients does it for each of hundreds.
    const totals: number[] = new Array(sliceWidth).fill(0)
    const numbers = this.#numbers
    for (let slice = 0; slice < sliceCount; slice++) {
      const counted = this.#minutes[slice] as number
      if (counted <= minute - sliceCount || counted > minute) continue
      const from = slice * sliceWidth
      for (let place = 0; place < sliceWidth; place++)
        totals[place] = (totals[place] as number) + (numbers[from + place] as number)
    }
    const total = (name: keyof typeof places): number => totals[places[name]] as number
    return {
      client: this.client,
      counts: {
        requests: total('requests'),
        limited: total('limited'),
        rejected: total('rejected'),
        failed: total('failed'),
      },
      latency: { counts: totals.slice(firstBucket), sumMs: total('totalMs') },
      lastAt: this.#lastAt,
      keyId: this.#keyId,
    }
  }

  #add(place: number, amount: number): void {
    this.#numbers[place] = (this.#numbers[place] as number) + amount
  }
}

/** Tells whether a time is in none of the slices that count now. A clock that was put back may have left it ahead. */
const isOver = (time: number, at: number): boolean =>
  Math.abs(Math.trunc(at / sliceMs) - Math.trunc(time / sliceMs)) >= sliceCount

const clientActivityRowShape = asObject({
  /** Its id in `clients`. */
  client: asText,
  requests: asNumber,
  /** Answered 429. */
  limited: asNumber,
  /** Answered with another 4xx, or rejected with a 5xx for what the client did. */
  rejected: asNumber,
  /** Answered with another 5xx, or cut short. */
  failed: asNumber,
  /** In milliseconds, to the last byte of the response. Null: there was no request. */
  p50: asNullable(asNumber),
  p99: asNullable(asNumber),
  lastAt: asText,
  /** The id of the key that it came with. Null: the method has none. */
  keyId: asNullable(asText),
})

export const clientActivityShape = asObject({
  /** At most 100, the ones that fare worst first. */
  rows: asList(clientActivityRowShape),
  seen: asNumber,
  /** Whether these are all that came. Null: the gateway is of a version that does not say. */
  complete: asNullable(asBoolean),
})

// What an operator reads of them.
const maxRows = 100

export type ClientActivityView = Decoded<typeof clientActivityShape>

export const toClientActivityView = ({ rows, isComplete }: ClientActivityReport): ClientActivityView => ({
  rows: rows.slice(0, maxRows).map(toRowView),
  seen: rows.length,
  complete: isComplete,
})

const toRowView = ({
  client,
  counts,
  latency,
  lastAt,
  keyId,
}: ClientActivityRow): ClientActivityView['rows'][number] => ({
  client,
  ...counts,
  p50: quantile(latency, 0.5),
  p99: quantile(latency, 0.99),
  lastAt: formatTime(lastAt),
  keyId,
})
