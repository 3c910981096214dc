import { parseArgs } from 'node:util'

export interface Options {
  /** Measured rounds; one more, the warm-up, goes before and is thrown away. */
  readonly rounds: number
  /** Length of one peer's turn with one workload in a round. */
  readonly seconds: number
  readonly connections: number
  /** Names of the peers to run; null is all that do not run on request only. */
  readonly only: readonly string[] | null
  /** Names of the workloads to run; null is all. */
  readonly workloads: readonly string[] | null
  /** Another checkout of this project, with its `node_modules`; null is none. Its gateway runs as the peer gateway-before. */
  readonly before: string | null
  /** File for the machine-readable result. */
  readonly json: string | null
  /** Leaves a CPU profile of the gateway in `.bench/`. */
  readonly profile: boolean
  readonly load: 'auto' | 'wrk' | 'own'
}

export const usage = `npm run bench -- [flags]
  --rounds N           measured rounds (5)
  --seconds N          seconds a peer and workload in each round (3)
  --connections N      keep-alive connections (64)
  --only A,B           peers: gateway, bare, nginx, haproxy (these); gateway-policies, bare-direct
  --workloads A,B      workloads: get, post (all)
  --before DIRECTORY   another checkout, npm ci done: its gateway takes part as gateway-before
  --json FILE          write the result as JSON too
  --profile            leave a CPU profile of the gateway in .bench/
  --load auto|wrk|own  load generator (auto: wrk where present)`

/** Reads the command line; throws with one line for a flag that it does not know or a value that makes no sense. */
export const readOptions = (args: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      only: { type: 'string' },
      workloads: { type: 'string' },
      before: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
      load: { type: 'string', default: 'auto' },
    },
  })
  return {
    rounds: count('rounds', values.rounds),
    seconds: count('seconds', values.seconds),
    connections: count('connections', values.connections),
    only: values.only?.split(',') ?? null,
    workloads: values.workloads?.split(',') ?? null,
    before: values.before ?? null,
    json: values.json ?? null,
    profile: values.profile,
    load: oneOf('load', values.load, ['auto', 'wrk', 'own']),
  }
}

const count = (name: string, text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: expected a whole number from 1, got ${text}`)
  return value
}

const oneOf = <Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice => {
  const choice = choices.find((each) => each === text)
  if (choice === undefined) throw new Error(`--${name}: expected ${choices.join(' or ')}, got ${text}`)
  return choice
}
