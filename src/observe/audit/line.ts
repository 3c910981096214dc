import { wallClock } from '../../clock.ts'
import type { Exchanged, Facts, Recorder } from '../exchanged.ts'
import type { Key, Link, Torn } from './chain.ts'

/** Is what is written of an exchange. */
export interface Written extends Pick<Exchanged, 'requestId' | 'client' | 'status' | 'failure' | 'configHash'> {
  readonly exchange: Pick<Facts, 'operation' | 'identity' | 'attempt' | 'digests'> | null
}

/** The SHA-256 of what went through whole, in hex; null: it was not asked for, there was none, or it did not. */
export type Digests = NonNullable<Facts['digests']>

/**
 * Writes what a line says of an exchange: a list of what may be there, with never a query, a field value or a body. An id is a sane token,
 * the rest are addresses, names of ours and numbers; who the client is comes from elsewhere, and is escaped.
 */
export const exchangeLine = (time: number, said: Written): string => {
  const { exchange } = said
  return (
    `${stamp(time, 'exchange')},"requestId":"${said.requestId}","address":"${said.client}"` +
    `,"client":${quoted(exchange?.identity?.client)},"method":${quoted(exchange?.identity?.method)}` +
    `,"operation":${plain(exchange?.operation.id ?? null)},"status":${said.status},"failure":${plain(said.failure?.kind ?? null)}` +
    `,"endpoint":${plain(exchange?.attempt?.endpoint ?? null)},"config":"${said.configHash}"` +
    `,"requestDigest":${plain(exchange?.digests?.request ?? null)},"answerDigest":${plain(exchange?.digests?.answer ?? null)}`
  )
}

/** Takes what operators did, or had done: the event by the name that the log has, and what it was about. */
export type TellOrder = (event: string, fields: OrderFields) => void

type OrderFields = Readonly<Record<string, string | number | boolean | null>>

/** Writes what a line says of an operator. */
export const adminLine = (time: number, event: string, fields: OrderFields): string =>
  `${stamp(time, event)}${more(fields)}`

/** Writes the first line of a process, or of a file: what it follows, and the key that it is sealed with. */
export const headLine = (
  time: number,
  event: 'start' | 'file',
  before: Link,
  key: Key,
  torn: Torn | null,
  fields: Readonly<Record<string, string | number>> = {},
): string =>
  `${stamp(time, event)}${more(fields)},"previous":"${before.mac}","key":"${key.id}"${torn === null ? '' : more({ torn })}`

/** Writes the last line with a key: those behind it are sealed with another. */
export const keyLine = (time: number, next: Key): string => `${stamp(time, 'key')},"next":"${next.id}"`

/** Writes the last line of a process, or of a file that lines no longer go to. */
export const endLine = (time: number, reason: EndReason): string => `${stamp(time, 'end')}${more({ reason })}`

/** Says why nothing follows: the process stops, another one goes on, or a reload says otherwise. */
export type EndReason = 'stopped' | 'reconfigured'

/** Writes that so many lines were lost here, while none could be written. */
export const lostLine = (time: number, lines: number): string => `${stamp(time, 'lost')}${more({ lines })}`

const stamp = (time: number, event: string): string => `"time":"${new Date(time).toISOString()}","event":"${event}"`

const more = (fields: Readonly<Record<string, unknown>>): string => {
  const text = JSON.stringify(fields)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

const plain = (name: string | null): string => (name === null ? 'null' : `"${name}"`)
const quoted = (name: string | undefined): string => (name === undefined ? 'null' : JSON.stringify(name))

/** Takes the lines of one process, and tells whether they can be written. There is one for all snapshots. */
export interface Auditor {
  /** Whether lines wait, or are lost, because they cannot be written. */
  readonly failing: boolean
  /** Takes what a line says. Never waits, and never throws. */
  record(says: string): void
}

/** Takes nothing. */
export const noAuditor: Auditor = { failing: false, record() {} }

/** Has a line of each exchange taken. */
export const auditRecorder = (auditor: Auditor): Recorder => ({
  name: 'audit',
  record: (exchanged) => auditor.record(exchangeLine(wallClock(), exchanged)),
})
