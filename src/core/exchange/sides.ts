import { type Group, type Side, sides } from '../../operations.ts'

/** Lists the upstreams of a group: the one that serves it, and that of each side which has one. */
export const listSides = <Upstream extends object>(
  primary: Upstream,
): readonly { readonly side: Side; readonly upstream: Upstream }[] =>
  sides.flatMap((side) => {
    const others = primary as Partial<Record<Side, { readonly upstream: Upstream } | null>>
    const upstream = side === 'primary' ? primary : others[side]?.upstream
    return upstream === undefined ? [] : [{ side, upstream }]
  })

/** Lists what is reported of the sides of a group: its own members, and those of a side that has its name. */
export const reportedSides = <Report extends object>(
  upstream: Report,
): readonly { readonly side: Side; readonly report: Report }[] =>
  sides.flatMap((side) => {
    const report = side === 'primary' ? upstream : (upstream as Partial<Record<Side, Report | null>>)[side]
    return report == null ? [] : [{ side, report }]
  })

/** Names an upstream in a sentence: `risk`, `the candidate of risk`. */
export const describeSide = (group: Group, side: Side): string =>
  side === 'primary' ? group : `the candidate of ${group}`

/** Returns the key path of an upstream: `upstreams.risk`, `upstreams.risk.candidate`. */
export const sideKey = (group: Group, side: Side): string =>
  side === 'primary' ? `upstreams.${group}` : `upstreams.${group}.candidate`

/** How many buckets of clients there are: a share counts in steps of 0.01 %. */
export const bucketCount = 10_000

/** Returns how many buckets are a share. They are the first ones, so that a larger share only adds clients. */
export const bucketsOfShare = (share: number): number => Math.round(share * bucketCount)
