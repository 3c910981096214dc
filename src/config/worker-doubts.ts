import { catalog, groups } from '../catalog.ts'
import type { Config } from './config.ts'
import type { Finding, Path } from './problem.ts'
import type { ParsedConfig } from './schema.ts'
import { workerCount } from './worker-count.ts'

/** Lists what is doubtful about how many processes serve, on a machine with so many cores. */
export const workerDoubts = (parsed: ParsedConfig, config: Config, cores: number): readonly Finding[] => [
  ...beyondCores(config, cores),
  ...beyondBounds(parsed, config, workerCount(config, cores)),
]

function beyondCores({ workers }: Config, cores: number): readonly Finding[] {
  if (workers === 'auto' || workers === 1 || workers <= cores) return []
  return [
    {
      path: ['workers'],
      message: 'more workers than this machine has cores: some only wait for their turn',
      expected: `at most ${cores} here, or auto`,
      found: String(workers),
      hint: 'write auto; if the gateway runs on another machine than this, compare with the cores there',
    },
  ]
}

/** Looks for bounds that cannot be divided: each worker has one at least, so that together they have more than the file says. */
function beyondBounds(
  parsed: ParsedConfig,
  { listen, limits, upstreams, operations }: Config,
  workers: number,
): readonly Finding[] {
  const exceeded = (path: Path, bound: number): Finding => ({
    path,
    message: `this is exceeded: each of ${workers} workers takes one at least`,
    expected: `${workers} or more`,
    found: String(bound),
    hint: `write ${workers} or more, or have fewer workers`,
  })
  const exceededIf = (path: Path, bound: number | null): readonly Finding[] =>
    bound !== null && bound < workers ? [exceeded(path, bound)] : []
  const few = groups.filter((group) => upstreams[group].maxConnections < workers)
  const own = few.filter((group) => parsed.upstreams[group].maxConnections !== undefined)
  return [
    ...exceededIf(['listen', 'maxConnections'], listen.maxConnections),
    ...exceededIf(['limits', 'concurrency'], limits.concurrency),
    ...(few.length > own.length ? [exceeded(['defaults', 'maxConnections'], parsed.defaults.maxConnections)] : []),
    ...own.map((group) => exceeded(['upstreams', group, 'maxConnections'], upstreams[group].maxConnections)),
    ...exceededIf(['defaults', 'concurrency'], parsed.defaults.concurrency),
    ...groups.flatMap((group) =>
      exceededIf(['upstreams', group, 'concurrency'], parsed.upstreams[group].concurrency ?? null),
    ),
    ...catalog.flatMap(({ id }) => exceededIf(['operations', id, 'concurrency'], operations[id].concurrency)),
  ]
}
