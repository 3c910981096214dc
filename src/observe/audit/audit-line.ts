import { epochMs } from '../../clock.ts'
import type { ExchangeFacts, ExchangeObserver, ExchangeRecord } from '../exchange-record.ts'
import type { AuditKey, ChainPosition, TornLine } from './chain.ts'

/** Is what is written of an exchange. */
export interface AuditedExchange
  extends Pick<ExchangeRecord, 'requestId' | 'client' | 'status' | 'failure' | 'configHash'> {
  readonly exchange: Pick<ExchangeFacts, 'operation' | 'identity' | 'attempt' | 'digests'> | null
}

/** The SHA-256 of what went through whole, in hex; null: it was not asked for, there was none, or it did not. */
export type BodyDigests = NonNullable<ExchangeFacts['digests']>

/**
 * Writes what a line says of an exchange: a list of what may be there, with never a query, a field value or a body. An id is a sane token,
 * the rest are addresses, names of ours and numbers; who the client is comes from elsewhere, and is escaped.
 */
export const exchangeLine = (time: number, record: AuditedExchange): string => {
  const { exchange } = record
  return (
    `${timeAndEvent(time, 'exchange')},"requestId":"${record.requestId}","address":"${record.client}"` +
    `,"client":${quoted(exchange?.identity?.client)},"method":${quoted(exchange?.identity?.method)}` +
    `,"operation":${plain(exchange?.operation.id ?? null)},"status":${record.status},"failure":${plain(record.failure?.kind ?? null)}` +
    `,"endpoint":${plain(exchange?.attempt?.endpoint ?? null)},"config":"${record.configHash}"` +
    `,"requestDigest":${plain(exchange?.digests?.request ?? null)},"answerDigest":${plain(exchange?.digests?.response ?? null)}`
  )
}

/** Takes what operators did, or had done: the event by the name that the log has, and what it was about. */
export type RecordAdminEvent = (event: string, fields: AdminEventFields) => void

type AdminEventFields = Readonly<Record<string, string | number | boolean | null>>

/** Writes what a line says of an operator. */
export const adminLine = (time: number, event: string, fields: AdminEventFields): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)}`

/** Writes the first line of a process, or of a file: what it follows, and the key that it is sealed with. */
export const headLine = (
  time: number,
  event: 'start' | 'file',
  before: ChainPosition,
  key: AuditKey,
  torn: TornLine | null,
  fields: Readonly<Record<string, string | number>> = {},
): string =>
  `${timeAndEvent(time, event)}${jsonMembers(fields)},"previous":"${before.mac}","key":"${key.id}"${torn === null ? '' : jsonMembers({ torn })}`

/** Writes the last line with a key: those behind it are sealed with another. */
export const keyLine = (time: number, next: AuditKey): string => `${timeAndEvent(time, 'key')},"next":"${next.id}"`

/** Writes the last line of a process, or of a file that lines no longer go to. */
export const endLine = (time: number, reason: AuditEndReason): string =>
  `${timeAndEvent(time, 'end')}${jsonMembers({ reason })}`

/** Says why nothing follows: the process stops, another one goes on, or a reload says otherwise. */
export type AuditEndReason = 'stopped' | 'reconfigured'

/** Writes that so many lines were lost here, while none could be written. */
export const lostLine = (time: number, lines: number): string =>
  `${timeAndEvent(time, 'lost')}${jsonMembers({ lines })}`

const timeAndEvent = (time: number, event: string): string =>
  `"time":"${new Date(time).toISOString()}","event":"${event}"`

const jsonMembers = (fields: Readonly<Record<string, unknown>>): string => {
  const text = JSON.stringify(fields)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

const plain = (name: string | null): string => (name === null ? 'null' : `"${name}"`)
const quoted = (name: string | undefined): string => (name === undefined ? 'null' : JSON.stringify(name))

/** Takes the lines of one process, and tells whether they can be written. There is one for all snapshots. */
export interface AuditSink {
  /** Whether lines wait, or are lost, because they cannot be written. */
  readonly failing: boolean
  /** Takes what a line says. Never waits, and never throws. */
  record(content: string): void
}

/** Takes nothing. */
export const nullAuditSink: AuditSink = { failing: false, record() {} }

/** Has a line of each exchange taken. */
export const auditObserver = (sink: AuditSink): ExchangeObserver => ({
  name: 'audit',
  record: (record) => sink.record(exchangeLine(epochMs(), record)),
})
