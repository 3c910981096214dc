import type { ExchangeFacts } from './exchange-record.ts'

/** Renders which side of its group an exchange was on, as members of JSON; empty: the group has no candidate in use. */
export const sideJson = ({ side, attempts }: Pick<ExchangeFacts, 'side' | 'attempts'>): string =>
  side === null ? '' : `,"side":"${side}"${attempts.fellBack ? ',"fellBack":true' : ''}`
