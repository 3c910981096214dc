import type { Load, Pick } from './balance.ts'
import { takeTurns } from './take-turns.ts'

/** Takes turns by weight, blind to load: for endpoints that differ in nothing but size, and for tests that must be told beforehand. */
export const roundRobin = <T extends Load>(): Pick<T> => takeTurns((member, now) => member.weightAt(now))
