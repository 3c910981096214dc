import { catalog, type Group, groups } from '../catalog.ts'
import type { Config } from './config.ts'
import type { Finding, Path } from './problem.ts'
import type { ParsedConfig } from './schema.ts'
import { workerCount } from './worker-count.ts'

/** Lists what is doubtful about how endpoints are spoken to over TLS; who is believed unverified is told on every load. */
export const tlsDoubts = (parsed: ParsedConfig, config: Config): readonly Finding[] => [
  ...unverified(parsed, config),
  ...idleConsent(parsed, config),
  ...groups.flatMap((group) => withoutTls(parsed, group)),
]

/** Says which level states a key with a value that was not meant for long, and for which groups. */
const stating = (
  parsed: ParsedConfig,
  key: 'verify' | 'insecure',
  which: readonly Group[],
): readonly { readonly path: Path; readonly behind: readonly Group[] }[] => {
  const own = which.filter((group) => parsed.upstreams[group].tls?.[key] !== undefined)
  const inherited = which.filter((group) => !own.includes(group))
  return [
    ...(inherited.length === 0 ? [] : [{ path: ['defaults', 'tls', key], behind: inherited }]),
    ...own.map((group) => ({ path: ['upstreams', group, 'tls', key], behind: [group] })),
  ]
}

function unverified(parsed: ParsedConfig, { upstreams }: Config): readonly Finding[] {
  const believed = groups.filter((group) => !upstreams[group].tls.verify)
  const reached = (behind: readonly Group[]): string => behind.filter((group) => hasTls(parsed, group)).join(', ')
  return stating(parsed, 'verify', believed).map(({ path, behind }) => ({
    path,
    message:
      'WHOEVER ANSWERS IS BELIEVED: no certificate is verified, and what is sent can be read and changed on the way',
    expected: 'true',
    found: reached(behind) === '' ? 'false' : `false for ${reached(behind)}`,
    hint: 'trust a certificate of your own with ca: file:PATH, another name with serverName; then remove verify and insecure',
  }))
}

function idleConsent(parsed: ParsedConfig, { upstreams }: Config): readonly Finding[] {
  const consenting = groups.filter((group) => parsed.upstreams[group].tls?.insecure ?? parsed.defaults.tls.insecure)
  return stating(parsed, 'insecure', consenting)
    .filter(({ behind }) => behind.every((group) => upstreams[group].tls.verify))
    .map(({ path }) => ({
      path,
      message: 'this does nothing by itself: certificates are verified',
      expected: 'false, or verify: false beside it',
      found: 'true',
      hint: 'remove this line',
    }))
}

function withoutTls(parsed: ParsedConfig, group: Group): readonly Finding[] {
  const { tls } = parsed.upstreams[group]
  if (tls === undefined || hasTls(parsed, group)) return []
  return [
    {
      path: ['upstreams', group, 'tls'],
      message: 'this does nothing: no endpoint of the group is spoken to over TLS',
      expected: 'an endpoint with https://',
      found: 'none',
      hint: 'write https:// in front of the endpoints, or remove tls',
    },
  ]
}

const hasTls = ({ upstreams }: ParsedConfig, group: Group): boolean =>
  upstreams[group].endpoints.some(({ origin }) => origin.startsWith('https:'))

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
