/** Makes the one log line an exchange that a Node peer writes: the fields of the gateway's access log that it can know. */
import { destination, type Logger, pino } from 'pino'

const buffered = { dest: 1, sync: false, minLength: 16 * 1024, maxWrite: 64 * 1024, periodicFlush: 500 }

/** Makes pino without pid and host name, its lines waiting in memory or each written as it comes. */
export const makeLogger = (mode: string | undefined): Logger =>
  pino({ base: null }, destination(mode === 'buffered' ? buffered : { dest: 1 }))
