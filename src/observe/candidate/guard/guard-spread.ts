import { expectedBad, type Stratum } from './excess.ts'
import type { BadOf, GuardComparison } from './guard-comparison.ts'

/** What the clients of a candidate had, and would have had at the primary. */
export interface ClientExcess {
  readonly cell: number
  readonly requests: number
  readonly bad: number
  /** How many bad requests it would have had, were the candidate as good as the primary. */
  readonly expected: number
}

/** Lists what each client of the candidate had, those that have most bad requests first. */
export const listClientExcesses = (strata: readonly GuardComparison[]): readonly ClientExcess[] => {
  const shares = new Map<number, { requests: number; bad: number; expected: number }>()
  for (const stratum of strata)
    for (const [cell, [requests, bad]] of stratum.byCell()) {
      const share = shares.get(cell) ?? { requests: 0, bad: 0, expected: 0 }
      shares.set(cell, share)
      share.requests += requests
      share.bad += bad
      share.expected += expectedBad([{ ...stratum, requests, bad }])
    }
  return [...shares].map(([cell, share]) => ({ cell, ...share })).sort((a, b) => b.bad - a.bad)
}

/**
 * Estimates how many clients bear the excess alike: (Σr)² / Σr², where r is the excess of each. One client that has all
 * of it counts as one, whatever the others have.
 */
export const countBearers = (shares: readonly ClientExcess[]): number => {
  let [sum, squares] = [0, 0]
  for (const { bad, expected } of shares) {
    sum += bad - expected
    squares += (bad - expected) ** 2
  }
  return sum <= 0 ? 0 : sum ** 2 / squares
}

/** Leaves clients out. */
export const withoutClients = (strata: readonly GuardComparison[], cells: readonly number[]): readonly Stratum[] =>
  strata.map((stratum) => {
    const byCell = stratum.byCell()
    let { requests, bad } = stratum
    for (const cell of cells) {
      const [had, hadBad]: BadOf = byCell.get(cell) ?? [0, 0]
      requests -= had
      bad -= hadBad
    }
    return { ...stratum, requests, bad: Math.max(0, bad) }
  })

// A client with fewer requests says nothing of itself.
const minOfClient = 3

/**
 * Tells whether nearly every client fares badly: two thirds of those that ask have more bad requests than good ones,
 * and they are at least three, or all that the candidate has.
 */
export const isBadForNearlyAll = (shares: readonly ClientExcess[], clients: number): boolean => {
  const asking = shares.filter(({ requests }) => requests >= minOfClient)
  const bad = asking.filter((each) => each.bad > each.requests / 2).length
  return bad >= Math.min(3, clients) && bad >= (2 / 3) * asking.length
}
