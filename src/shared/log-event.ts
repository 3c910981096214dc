/** Hears what happens to endpoints and breakers, for the log: an event, and its fields. */
export type LogEvent = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void
