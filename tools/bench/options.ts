import { parseArgs } from 'node:util'

export interface Options {
  /** Measured rounds; one more, the warm-up, goes before and is thrown away. */
  readonly rounds: number
  /** Length of one peer's turn with one workload in a round. */
  readonly seconds: number
  readonly connections: number
  /** Names of the peers, or levels of `--layers`, to run; null is all that do not run on request only. */
  readonly only: readonly string[] | null
  /** Names of the workloads to run; null is all that do not run on request only. */
  readonly workloads: readonly string[] | null
  /** Runs every workload. */
  readonly all: boolean
  /** Requests a second for the comparison of latencies; half of the gateway's own, or null for no such comparison. */
  readonly rate: 'half' | number | null
  /** Idle connections whose memory is measured, with the workload idle. */
  readonly idle: number
  /**
   * Another checkout of this project, with its `node_modules`; null is none. Its gateway runs as the peers
   * gateway-before and others, and with `--layers` as each level that is on.
   */
  readonly before: string | null
  /** File for the machine-readable result. */
  readonly json: string | null
  /** Leaves a CPU profile of each gateway in `.bench/`. */
  readonly profile: boolean
  /** Leaves what `perf record` saw of each gateway in `.bench/`. */
  readonly perf: boolean
  /** Runs one of the tables of the gateway alone instead of the comparison. */
  readonly scale: 'connections' | 'endpoints' | 'clients' | null
  /** Measures how long reloads take, instead of the comparison. */
  readonly reload: boolean
  /** Overloads an upstream of a fixed capacity, instead of the comparison. */
  readonly capacity: boolean
  /** Measures what each layer costs, instead of the comparison. */
  readonly layers: boolean
  /** Draws a profile, instead of any run: from which file to which. */
  readonly picture: { readonly from: string; readonly to: string } | null
}

export const usage = `npm run bench -- [flags]
  --rounds N           measured rounds (5)
  --seconds N          seconds a peer and workload in each round (3)
  --connections N      keep-alive connections (64)
  --only A,B           peers: gateway, bare, httpxy, nginx, haproxy, caddy (these);
                       gateway-uncounted, gateway-traced, gateway-policies,
                       gateway-workers, bare-direct, nginx-memory,
                       gateway-cache, node-cache, nginx-cache,
                       node-floor, node-h2-floor, socket-floor,
                       gateway-tls, nginx-tls, haproxy-tls, gateway-h2, gateway-h2-node,
                       nginx-h2, haproxy-h2
  --workloads A,B      workloads: get, post (these); post-64k, json-2k, json-64k,
                       response-1m, cached, cached-1m, idle, churn
  --all                every workload
  --rate N|off         latency at N requests/s (half of what the gateway serves); off: do without
  --idle N             idle connections whose memory is measured with the workload idle (1000)
  --before DIRECTORY   another checkout, npm ci done: its gateway takes part as gateway-before
                       (and with -cache-, -tls- and -h2-, where --only names them; with --layers as
                       each level that is on)
  --json FILE          write the result as JSON too
  --profile            leave a CPU profile of each gateway in .bench/
  --perf               leave what perf saw of each gateway in .bench/ instead: where CPU time goes
npm run bench -- --scale connections|endpoints|clients   the gateway alone, from few to many
npm run bench -- --reload                        how long a reload to 50 endpoints a group takes
npm run bench -- --reload --scale clients        the same with 10,000 clients, in JSON and in YAML
npm run bench -- --capacity                      three times as much as an upstream can take
npm run bench -- --layers [--only A,B]           what each layer costs a request; a level's name with - for blanks
npm run bench -- --picture PROFILE FILE.svg      draw a .cpuprofile or a .perf.txt`

/** Reads the command line; throws with one line for a flag that it does not know or a value that makes no sense. */
export const readOptions = (args: readonly string[]): Options => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      only: { type: 'string' },
      workloads: { type: 'string' },
      all: { type: 'boolean', default: false },
      rate: { type: 'string' },
      idle: { type: 'string', default: '1000' },
      before: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
      perf: { type: 'boolean', default: false },
      scale: { type: 'string' },
      reload: { type: 'boolean', default: false },
      capacity: { type: 'boolean', default: false },
      layers: { type: 'boolean', default: false },
      picture: { type: 'string' },
    },
  })
  const [to, ...others] = positionals
  if ((to !== undefined) !== (values.picture !== undefined) || others.length > 0)
    throw new Error(`expected --picture PROFILE FILE.svg, got ${args.join(' ')}`)
  return {
    rounds: count('rounds', values.rounds),
    seconds: count('seconds', values.seconds),
    connections: count('connections', values.connections),
    only: values.only?.split(',') ?? null,
    workloads: values.workloads?.split(',') ?? null,
    all: values.all,
    rate: values.rate === 'off' ? null : values.rate === undefined ? 'half' : count('rate', values.rate),
    idle: count('idle', values.idle),
    before: values.before ?? null,
    json: values.json ?? null,
    profile: values.profile,
    perf: values.perf,
    scale: values.scale === undefined ? null : scaleOf(values.scale),
    reload: values.reload,
    capacity: values.capacity,
    layers: values.layers,
    picture: values.picture === undefined || to === undefined ? null : { from: values.picture, to },
  }
}

/** Reads a whole number from 1. */
export const count = (name: string, text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: expected a whole number from 1, got ${text}`)
  return value
}

const scaleOf = (text: string): NonNullable<Options['scale']> => {
  const scale = (['connections', 'endpoints', 'clients'] as const).find((each) => each === text)
  if (scale === undefined) throw new Error(`--scale: expected connections or endpoints or clients, got ${text}`)
  return scale
}
