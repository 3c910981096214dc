/** Takes the turns: every peer in every round, so that a slow spell of the machine falls on all. */
import type { Contender } from './contender.ts'
import type { Load } from './load.ts'
import { type Effort, measure, type Sample } from './measure.ts'
import type { Workload } from './workload.ts'

export interface RoundOptions extends Effort {
  /** Measured rounds; one more, the warm-up, goes before and is thrown away. */
  readonly rounds: number
}

/** Takes the rounds. A peer whose responses are wrong takes no turn. The first of a round moves on by one each time. */
export const takeRounds = async (
  contenders: readonly Contender[],
  asked: readonly Workload[],
  load: Load,
  options: RoundOptions,
): Promise<void> => {
  const able = contenders.filter(({ problems }) => problems.length === 0)
  for (let round = 0; round <= options.rounds; round++) {
    for (const workload of asked) {
      for (let turn = 0; turn < able.length; turn++) {
        const contender = able[(round + turn) % able.length]
        if (contender === undefined) continue
        const connections = contender.connections ?? workload.connections ?? options.connections
        const effort = { seconds: options.seconds, connections }
        const sample = await measure(contender.running, workload, contender.load ?? load, effort)
        progress(round, workload, contender, sample)
        if (round > 0) record(contender, workload, sample, connections)
      }
    }
  }
}

const record = (
  { samples, problems, quiet }: Contender,
  { name }: Workload,
  sample: Sample,
  connections: number,
): void => {
  samples.set(name, [...(samples.get(name) ?? []), sample])
  if (sample.failed > 0) problems.push(`${name}: ${sample.failed} requests failed under load`)
  // What is in flight when the load ends is logged and not counted; a log that is off or drops lines is off by more.
  if (Math.abs(sample.logLines - (quiet ? 0 : 1)) > 0.02 + connections / sample.served)
    problems.push(`${name}: ${sample.logLines.toFixed(3)} log lines a request`)
}

const progress = (round: number, workload: Workload, { name }: Contender, { cpuUs, served }: Sample): void => {
  const when = round === 0 ? 'warm-up' : `round ${round}`
  console.error(`${when} ${workload.name} ${name}: ${cpuUs.toFixed(1)} µs a request, ${served} served`)
}
