import type { ExchangeFacts } from './exchange-record.ts'

/** Renders which side of its group an exchange was on, as members of JSON; empty: the group has no candidate in use. */
export const sideJson = ({ side, fellBack }: Pick<ExchangeFacts, 'side' | 'fellBack'>): string =>
  side === null ? '' : `,"side":"${side}"${fellBack ? ',"fellBack":true' : ''}`
