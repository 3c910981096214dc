/** Takes samples while the load runs. */
import { type Census, takeCensus } from './census.ts'
import type { SoakedGateway } from './gateway.ts'
import { type Ongoing, ongoing } from './traffic.ts'

/** A census of one process at one time of the run. */
export interface Sample extends Census {
  readonly atMs: number
  readonly who: 'gateway' | 'worker'
  readonly pid: number
}

/** Takes the census of every process of a gateway. One that ends meanwhile is left out. */
export const sampleAll = async (gateway: SoakedGateway, atMs: number): Promise<readonly Sample[]> => {
  const taken = await Promise.all(
    (await gateway.watched()).map(async ({ pid, inspector }) => {
      const who = pid === gateway.pid ? ('gateway' as const) : ('worker' as const)
      const census = await takeCensus(pid, inspector).catch(() => null)
      return census === null ? [] : [{ atMs, who, pid, ...census }]
    }),
  )
  return taken.flat()
}

/** Samples every few seconds into a list. */
export const sampling = (gateway: SoakedGateway, into: Sample[], from: number): Ongoing =>
  ongoing(1, 4000, async () => {
    into.push(...(await sampleAll(gateway, performance.now() - from)))
  })

/** Lists the samples of one process; of several workers, of the one that lived longest. */
export const samplesOfOne = (samples: readonly Sample[], who: Sample['who']): readonly Sample[] =>
  Object.values(
    Object.groupBy(
      samples.filter((each) => each.who === who),
      ({ pid }) => pid,
    ),
  ).reduce<readonly Sample[]>((one, other = []) => (other.length > one.length ? other : one), [])

export interface MeasuredValue {
  readonly atMs: number
  readonly value: number
}

/** Returns the median of what was measured in the nth third of a run; NaN: nothing was. */
export const medianIn = (measured: readonly MeasuredValue[], third: 0 | 1 | 2, totalMs: number): number => {
  const within = measured.filter(({ atMs }) => Math.floor((3 * atMs) / totalMs) === third)
  const values = within.map(({ value }) => value).toSorted((one, other) => one - other)
  return values[values.length >> 1] ?? Number.NaN
}
