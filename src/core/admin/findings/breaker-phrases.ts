import { formatTimeOfDay } from '../../lib/text/format-time.ts'
import { wherePhrase } from './finding.ts'

export const breakerPhrase = (
  name: string,
  breaker: { readonly state: string; readonly where: string | null },
): string => `the circuit breaker of ${name} is ${breaker.state}${wherePhrase(breaker)}`

export const nextTryDetails = ({ openForMs }: { readonly openForMs: number | null }, at: number): readonly string[] =>
  openForMs === null ? [] : [`the first request after ${formatTimeOfDay(at + openForMs, at)} is sent as a test`]
