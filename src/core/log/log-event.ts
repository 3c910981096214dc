/** Logs an event, and its fields: what happens to endpoints, circuit breakers and other resources of a process. */
export type LogEvent = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void
