import { asBoolean, asList, asNullable, asNumber, asObject, asText, type Decoded } from '../../lib/text/decode.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import type { ClientActivityRow } from '../../log/client-activity.ts'
import { quantile } from '../../log/metrics/histogram.ts'
import type { StatusReport } from '../../runtime/status/report.ts'

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

export type ClientActivityView = Decoded<typeof clientActivityRowShape>

/** Null: clients do not authenticate. */
export const clientActivityView = ({ clients }: StatusReport): Decoded<typeof clientActivityShape> | null =>
  clients && {
    rows: clients.rows.slice(0, maxRows).map(toRowView),
    seen: clients.rows.length,
    complete: clients.isComplete,
  }

const toRowView = ({ client, counts, latency, lastAt, keyId }: ClientActivityRow): ClientActivityView => ({
  client,
  ...counts,
  p50: quantile(latency, 0.5),
  p99: quantile(latency, 0.99),
  lastAt: formatTime(lastAt),
  keyId,
})
