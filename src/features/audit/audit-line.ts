import { sideJson } from '../../core/exchange/exchange.ts'
import type { RecordedOutcome } from '../../core/exchange/exchange-outcomes.ts'
import { escapeQuotedControls } from '../../core/lib/text/escape-controls.ts'
import type { ExchangeFacts, ExchangeRecord } from '../../core/log/exchange-record.ts'
import type { RecordAdminEvent } from '../../core/runtime/overrides.ts'
import type { AuditKey, ChainPosition, TornLine } from './chain/chain.ts'

export interface AuditedExchange
  extends Pick<ExchangeRecord, 'requestId' | 'client' | 'status' | 'failure' | 'configHash'> {
  readonly exchange: Pick<ExchangeFacts, 'operation' | 'identity' | 'attempts' | 'side' | 'outcome'> | null
}

/** The SHA-256 of the bodies that went through whole, in hex. Null: not asked for, no body, or not whole. */
export type BodyDigests = Record<'request' | 'response', string | null>
export const digestsOf = new WeakMap<object, BodyDigests>()

/**
 * Renders what a line says of an exchange. An allow-list, never with a query, a field value or a body. An id is a sane
 * token; the rest are addresses, the gateway's own names, and numbers. The identity of the client comes from elsewhere,
 * and is escaped.
 */
export const exchangeLine = (time: number, record: AuditedExchange): string => {
  const { exchange } = record
  const digests = exchange === null ? undefined : digestsOf.get(exchange)
  return (
    `${timeAndEvent(time, 'exchange')},"requestId":"${record.requestId}","address":"${record.client}"` +
    `,"client":${quoted(exchange?.identity?.client)},"method":${quoted(exchange?.identity?.method)}` +
    `,"operation":${plain(exchange?.operation.id ?? null)},"status":${record.status},"failure":${plain(record.failure?.kind ?? null)}` +
    `,"endpoint":${plain(exchange?.attempts.last?.endpoint ?? null)},"config":"${record.configHash}"` +
    `,"requestDigest":${plain(digests?.request ?? null)},"answerDigest":${plain(digests?.response ?? null)}` +
    outcomeMembers(exchange?.outcome ?? null) +
    (exchange === null ? '' : sideJson(exchange))
  )
}

const outcomeMembers = (record: RecordedOutcome | null): string =>
  record?.isAudited === true
    ? jsonMembers({ [record.source]: record.outcome, firstRequestId: record.firstRequestId ?? undefined })
    : ''

export const adminLine = (time: number, ...[event, fields]: Parameters<RecordAdminEvent>): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)}`

/** Renders the first line of a process or of a file: what it follows, and the key that it is sealed with. */
export const headLine = (
  time: number,
  event: 'start' | 'file',
  before: ChainPosition,
  key: AuditKey,
  torn: TornLine | null,
  fields: Readonly<Record<string, string | number>> = {},
): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)},"previous":"${before.mac}","key":"${key.id}"${torn === null ? '' : jsonMembers({ torn })}`

/** Renders the last line with a key: the lines after it are sealed with another. */
export const keyLine = (time: number, next: AuditKey): string => `${timeAndEvent(time, 'key')},"next":"${next.id}"`

/** Renders the last line of a process, or of a file that lines no longer go to. */
export const endLine = (time: number, reason: AuditEndReason): string =>
  `${timeAndEvent(time, 'end')}${jsonMembers({ reason })}`

/** Why no line follows: the process stops, or a reload changes the configuration. */
export type AuditEndReason = 'stopped' | 'reconfigured'

/** Renders how many lines were lost here, while none could be written. */
export const lostLine = (time: number, lines: number): string =>
  `${timeAndEvent(time, 'lost')}${jsonMembers({ lines })}`

const timeAndEvent = (time: number, event: string): string =>
  `"time":"${new Date(time).toISOString()}","event":"${event}"`

const jsonMembers = (fields: Readonly<Record<string, unknown>>): string => {
  const text = escapeQuotedControls(JSON.stringify(fields))
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

const plain = (name: string | null): string => (name === null ? 'null' : `"${name}"`)
const quoted = (name: string | undefined): string => (name === undefined ? 'null' : JSON.stringify(name))
