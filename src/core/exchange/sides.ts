import { type Group, type Side, sides } from '../../operations.ts'

export const listSides = <Upstream extends object>(
  primary: Upstream,
): readonly { readonly side: Side; readonly upstream: Upstream }[] =>
  sides.flatMap((side) => {
    const others = primary as Partial<Record<Side, { readonly upstream: Upstream } | null>>
    const upstream = side === 'primary' ? primary : others[side]?.upstream
    return upstream === undefined ? [] : [{ side, upstream }]
  })

export const reportedSides = <Report extends object>(
  upstream: Report,
): readonly { readonly side: Side; readonly report: Report }[] =>
  sides.flatMap((side) => {
    const report = side === 'primary' ? upstream : (upstream as Partial<Record<Side, Report | null>>)[side]
    return report == null ? [] : [{ side, report }]
  })

export const describeSide = (group: Group, side: Side): string =>
  side === 'primary' ? group : `the candidate of ${group}`

export const sideKey = (group: Group, side: Side): string =>
  side === 'primary' ? `upstreams.${group}` : `upstreams.${group}.candidate`

/** A share of clients counts in steps of 0.01 %. */
export const bucketCount = 10_000

/** The first buckets, so that a larger share only adds clients. */
export const bucketsOfShare = (share: number): number => Math.round(share * bucketCount)
