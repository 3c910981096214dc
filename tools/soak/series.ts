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

/**
 * Returns the median of the heaps of a process in the nth third of a run; NaN: there is no sample. Of several workers,
 * the one that lived longest.
 */
export const medianHeap = (
  samples: readonly Sample[],
  who: Sample['who'],
  third: 0 | 1 | 2,
  totalMs: number,
): number => {
  const byProcess = Object.values(Object.groupBy(samples, (each) => `${each.who} ${each.pid}`))
  const ofOne = byProcess
    .map((taken = []) => taken.filter((each) => each.who === who))
    .reduce((one, other) => (other.length > one.length ? other : one), [])
  return medianIn(
    ofOne.map(({ atMs, heapBytes }) => ({ atMs, value: heapBytes })),
    third,
    totalMs,
  )
}

/** Returns the median of what was measured in the nth third of a run; NaN: nothing was. */
export const medianIn = (
  measured: readonly { readonly atMs: number; readonly value: number }[],
  third: 0 | 1 | 2,
  totalMs: number,
): number => {
  const within = measured.filter(({ atMs }) => Math.floor((3 * atMs) / totalMs) === third)
  const values = within.map(({ value }) => value).toSorted((one, other) => one - other)
  return values[values.length >> 1] ?? Number.NaN
}
