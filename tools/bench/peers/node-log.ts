/**
 * Makes the one log line an exchange that a Node peer writes: the fields of the gateway's access log that it can know.
 */
import { destination, type Logger, pino } from 'pino'

type Destination = ReturnType<typeof destination>

const buffered = { dest: 1, sync: false, minLength: 16 * 1024, maxWrite: 64 * 1024, periodicFlush: 500 }

/** Makes where pino's lines go. */
export const makeDestination = (mode: string | undefined): Destination =>
  destination(mode === 'buffered' ? buffered : { dest: 1 })

/** Makes pino without pid and host name, its lines waiting in memory or each written as it comes. */
export const makeLogger = (mode: string | undefined): Logger => pino({ base: null }, makeDestination(mode))
