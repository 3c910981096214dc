import { GatewayError } from '../../failures/errors.ts'
import type { Load, Pick } from './balance.ts'

/** Is what a member is owed, in picks; negative: what it has had in advance. */
interface Account {
  credit: number
  weight: number
}

// What the rounding of shares may come to; less is a tie, which the first in the list wins.
const tie = 1e-9

/**
 * Takes turns by weight, blind to load: for endpoints that differ in nothing but size, and for tests that must be told
 * beforehand.
 *
 * The turns are evenly spread (smooth weighted round robin, as nginx does it): with every pick each member that is open
 * is owed its share of it, and the one that is owed most has it. Credits are kept in picks, so that weights may differ
 * from one pick to the next. Who is missing is owed nothing meanwhile, and comes back with the credit it left with: no
 * burst. The k largest of n credits never sum to more than k × (n − k), whatever the weights and whoever is missing (by
 * induction over picks, from the sums of the k − 1 and k + 1 largest); so none is ever outside ±(n − 1), and one that
 * is open with a share of at least s waits at most 2 × (n − 1) / s + 1 picks.
 */
export const roundRobin = <T extends Load>(): Pick<T> => {
  const accounts = new WeakMap<T, Account>()
  const accountOf = (member: T): Account => {
    const known = accounts.get(member)
    if (known !== undefined) return known
    const opened = { credit: 0, weight: 0 }
    accounts.set(member, opened)
    return opened
  }

  return (open, now) => {
    let total = 0
    for (const member of open) {
      const account = accountOf(member)
      account.weight = member.weightAt(now)
      total += account.weight
    }

    let picked: T | undefined
    let paying: Account | undefined
    for (const member of open) {
      const account = accountOf(member)
      account.credit += account.weight / total
      if (paying !== undefined && account.credit <= paying.credit + tie) continue
      picked = member
      paying = account
    }
    if (picked === undefined || paying === undefined) throw new GatewayError('no-healthy-endpoint')
    paying.credit -= 1
    return picked
  }
}
