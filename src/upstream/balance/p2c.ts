import { GatewayError } from '../../errors.ts'
import type { Load, Pick } from './balance.ts'

/**
 * Draws two by weight and tosses a biased coin between them (power of two choices): load counts without anybody being the best, so a
 * crowd does not run after the one that just became idle.
 *
 * The coin is biased, not decided: were the less loaded one always taken, a light endpoint (a canary of weight 1 among 101) would lose
 * nearly every draw to the heavy one as soon as it has anything to do, and one with an old bad latency would never be asked again.
 * Drawing i and j in either order and taking i with the odds (W − wⱼ) : (W − wᵢ) gives each exactly w / W; the odds are then divided by
 * the loads, so that one whose load is c times the least one's still gets 1/c of its share.
 */
export const p2c = <T extends Load>(random: () => number = Math.random): Pick<T> => {
  /** Draws one by weight, other than `besides`; `total` is what those weigh together. */
  const draw = (open: readonly T[], now: number, total: number, besides: number | null): number => {
    let left = random() * total
    let drawn = 0
    for (let i = 0; i < open.length; i++) {
      if (i === besides) continue
      drawn = i // the last one, should rounding leave something over
      left -= open[i]?.weightAt(now) ?? 0
      if (left < 0) break
    }
    return drawn
  }

  /** Draws one of `count` that weigh the same, in one step. */
  const drawEqual = (count: number, besides: number | null): number => {
    if (besides === null) return Math.floor(random() * count)
    const drawn = Math.floor(random() * (count - 1))
    return drawn < besides ? drawn : drawn + 1
  }

  return (open, now) => {
    const count = open.length
    let total = 0
    let equal = true
    const common = open[0]?.weightAt(now)
    for (const member of open) {
      const weight = member.weightAt(now)
      total += weight
      if (weight !== common) equal = false
    }

    const first = equal ? drawEqual(count, null) : draw(open, now, total, null)
    const one = open[first]
    if (one === undefined) throw new GatewayError('no-healthy-endpoint')
    if (count === 1) return one

    const rest = total - one.weightAt(now)
    const other = open[equal ? drawEqual(count, first) : draw(open, now, rest, first)] ?? one
    // Both sides of the odds times both loads.
    const forOne = (total - other.weightAt(now)) * loadOf(other, total / count, now)
    const forOther = rest * loadOf(one, total / count, now)
    return random() * (forOne + forOther) < forOne ? one : other
  }
}

/** Tells how long one more request would wait there, in any unit: those on their way, relative to its size, times the time each takes. */
const loadOf = (member: Load, meanWeight: number, now: number): number =>
  (1 + (member.inFlight * meanWeight) / member.weightAt(now)) * member.latencyAt(now)
