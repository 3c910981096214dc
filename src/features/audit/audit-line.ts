import { type RecordedOutcome, sideJson } from '../../core/exchange/exchange.ts'
import { escapeQuotedControls } from '../../core/lib/text/escape-controls.ts'
import type { ExchangeFacts, ExchangeRecord } from '../../core/log/exchange-record.ts'
import type { AuditKey, ChainPosition, TornLine } from './chain/chain.ts'

export interface AuditedExchange
  extends Pick<ExchangeRecord, 'requestId' | 'client' | 'status' | 'failure' | 'configHash'> {
  readonly exchange: Pick<ExchangeFacts, 'operation' | 'identity' | 'attempts' | 'side' | 'outcome'> | null
}

/** SHA-256 in hex. Null: not configured, no body, or a body cut short. */
export type BodyDigests = Record<'request' | 'response', string | null>
export const digestsOf = new WeakMap<object, BodyDigests>()

/**
 * An allow-list, without query, field values and bodies. Only the client's identity comes from outside, so it is
 * escaped.
 */
export const exchangeLine = (time: number, record: AuditedExchange): string => {
  const { exchange } = record
  const digests = exchange === null ? undefined : digestsOf.get(exchange)
  return (
    `${timeAndEvent(time, 'exchange')},"requestId":"${record.requestId}","address":"${record.client}"` +
    `,"client":${quoted(exchange?.identity?.client)},"method":${quoted(exchange?.identity?.method)}` +
    `,"operation":${plain(exchange?.operation.id ?? null)},"status":${record.status},"failure":${plain(record.failure?.kind ?? null)}` +
    `,"endpoint":${plain(exchange?.attempts.last?.endpoint ?? null)},"config":"${record.configHash}"` +
    `,"requestDigest":${plain(digests?.request ?? null)},"responseDigest":${plain(digests?.response ?? null)}` +
    outcomeMembers(exchange?.outcome ?? null) +
    (exchange === null ? '' : sideJson(exchange))
  )
}

const outcomeMembers = (record: RecordedOutcome | null): string =>
  record?.isAudited === true
    ? jsonMembers({ [record.source]: record.outcome, firstRequestId: record.firstRequestId ?? undefined })
    : ''

/**
 * Events are operators' commands, `key` (the last line with a key), `end` (of a process, or of a file that an edit
 * replaces) and `lost`.
 */
export const eventLine = (time: number, event: string, fields: object): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)}`

/** The first line of a process or a file: the HMAC before it, and the id of its key. */
export const headLine = (
  time: number,
  event: 'start' | 'file',
  before: ChainPosition,
  key: AuditKey,
  torn: TornLine | null,
  fields: Readonly<Record<string, string | number>> = {},
): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)},"previous":"${before.mac}","key":"${key.id}"${torn === null ? '' : jsonMembers({ torn })}`

export type AuditEndReason = 'stopped' | 'reconfigured'

const timeAndEvent = (time: number, event: string): string =>
  `"time":"${new Date(time).toISOString()}","event":"${event}"`

const jsonMembers = (fields: object): string => {
  const text = escapeQuotedControls(JSON.stringify(fields))
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

const plain = (name: string | null): string => (name === null ? 'null' : `"${name}"`)
const quoted = (name: string | undefined): string => (name === undefined ? 'null' : JSON.stringify(name))
