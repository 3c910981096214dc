import { median } from './stats.ts'

/** What one of several pieces of work costs. */
export interface TurnCost {
  readonly name: string
  /** The µs of CPU of one run, garbage collection included: the median of the rounds, and the least and the most. */
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Has pieces of work take turns, `runs` of each a round, and measures what they cost. `at` counts the runs. */
export const measureByTurns = (
  pieces: Readonly<Record<string, (at: number) => void>>,
  { rounds, runs }: { readonly rounds: number; readonly runs: number },
): readonly TurnCost[] => {
  const measured = Object.entries(pieces).map(([name, piece]) => ({ name, piece, costs: [] as number[] }))
  for (let round = 0; round <= rounds; round++)
    for (const { piece, costs } of measured) {
      const before = process.cpuUsage()
      for (let at = 0; at < runs; at++) piece(at)
      const { user, system } = process.cpuUsage(before)
      if (round > 0) costs.push((user + system) / runs) // the first is the compilers'
    }
  return measured.map(({ name, costs }) => ({
    name,
    median: median(costs),
    min: Math.min(...costs),
    max: Math.max(...costs),
  }))
}
