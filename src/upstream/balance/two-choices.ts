import { GatewayError } from '../../failures/errors.ts'
import type { Load, Pick } from './balance.ts'

// An endpoint fails more than another one when its successes take so many times the attempts.
const clearlyMore = 1.1

// How fast the odds of one that fails fall. Beside one that is well, an endpoint that always fails has three or four
// requests of the first hundred, which is what `retry.budget` makes good, and then one in two seconds, as long as
// failures are remembered for ten.
const failureExponent = 4

/**
 * Draws two members by weight and tosses a coin between them, biased by their loads (power of two choices). `loadOf`
 * tells how long one more request would wait; `queue` is what is on its way, relative to the member's size, and one
 * more.
 *
 * The law, for each pick and whatever the loads are (s: the member's share of the weight that is open):
 *
 * - No member is picked with more than 2 × s. Either draw is a member with s exactly, so it is among the two with 2 × s
 *   at most.
 * - A member that fails clearly more than its siblings is picked with s at most: beside each of them it has even odds
 *   at best.
 * - Members of equal loads are picked with s exactly, each being one of the two draws as likely as the other.
 *
 * The coin is biased, not decided: were the less loaded one always taken, a crowd would run after the one that just
 * became idle, and a member with an old bad latency would never be asked again.
 */
export const twoChoices =
  <T extends Load>(
    loadOf: (queue: number, member: T, now: number) => number,
    random: () => number = Math.random,
  ): Pick<T> =>
  (open, now) => {
    const count = open.length
    const common = open[0]?.weightAt(now)
    let total = 0
    let heaviest = 0
    let equal = true
    for (const member of open) {
      const weight = member.weightAt(now)
      total += weight
      if (weight > heaviest) heaviest = weight
      if (weight !== common) equal = false
    }

    let one: T | undefined
    let other: T | undefined
    if (equal) {
      const first = Math.floor(random() * count)
      one = open[first]
      other = open[(first + 1 + Math.floor(random() * (count - 1))) % count]
    } else {
      // Two points of a circle on which each member has an arc as long as its weight. The second is as random as the
      // first, and so far from it that both are on one arc only if that is longer than all the others together.
      const apart = Math.min(heaviest, total / 2)
      const point = random() * total
      one = at(open, point, now)
      other = at(open, (point + apart + random() * (total - 2 * apart)) % total, now)
    }
    if (one === undefined || other === undefined) throw new GatewayError('no-healthy-endpoint')
    if (one === other) return one

    const attempts = one.attemptsAt(now)
    const otherAttempts = other.attemptsAt(now)
    let load = loadOf(queueOf(one, total / count, now), one, now)
    let otherLoad = loadOf(queueOf(other, total / count, now), other, now)
    // An answer that fails may come at once and leave nothing on its way: that one is no less loaded.
    if (attempts > otherAttempts * clearlyMore) load = Math.max(load, otherLoad)
    else if (otherAttempts > attempts * clearlyMore) otherLoad = Math.max(load, otherLoad)
    const odds = otherLoad * otherAttempts ** failureExponent
    return random() * (odds + load * attempts ** failureExponent) < odds ? one : other
  }

/** Finds whose arc a point is on. */
const at = <T extends Load>(open: readonly T[], point: number, now: number): T | undefined => {
  let left = point
  for (const member of open) {
    left -= member.weightAt(now)
    if (left < 0) return member
  }
  return open.at(-1) // rounding left something over
}

const queueOf = (member: Load, meanWeight: number, now: number): number =>
  1 + (member.inFlight * meanWeight) / member.weightAt(now)
