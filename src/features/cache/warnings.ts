import { askFacts, authenticates } from '../../core/config/config-facts.ts'
import { processShare } from '../../core/config/process-share.ts'
import type { WarningRule } from '../../core/config/rules/rule.ts'
import { statedSides } from '../../core/config/warnings/upstream-warnings.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import { allOperations, groups } from '../../operations.ts'
import { maxOutsideShare } from './store/stored-response.ts'

const unusedCacheRedis: WarningRule = ({ config: { cache, operations } }) =>
  cache.redis !== null &&
  allOperations.every(({ id }) => operations[id].cache === null) && {
    path: ['cache', 'redis'],
    message: 'this does nothing: no operation is cached',
    expected: 'cache: true under one of operations, or no cache.redis',
    found: 'none that is',
    hint: 'add market.insights: { cache: true } under operations, or remove redis',
  }

const bypassedCache: WarningRule = ({ config }) =>
  askFacts((facts) => facts.forwardsCredentials?.(config)).includes(true) &&
  allOperations.map(({ id }) => {
    const { cache } = config.operations[id]
    return (
      cache !== null &&
      !cache.shared &&
      authenticates(config.operations[id]) && {
        path: ['operations', id, 'cache'],
        message:
          'this does nothing: every request carries a credential, and such a request never gets a stored response',
        expected: 'auth.credentials: strip, or shared: true',
        found: 'auth.credentials: forward',
        hint: 'read docs/caching.md before you write shared: true',
      }
    )
  })

const entryWithoutRoom: WarningRule = ({ config, processes }) => {
  const share = processShare(config.cache.maxBytes, processes)
  const room = Math.floor(share * maxOutsideShare)
  return allOperations.map(({ id }) => {
    const { cache } = config.operations[id]
    return (
      cache !== null &&
      cache.maxEntry > room && {
        path: ['operations', id, 'cache', 'maxEntry'],
        message: 'the longest responses are never stored: a worker has no room for one while it arrives',
        expected: `at most ${formatSize(room)}, half of each worker’s share of cache.maxBytes`,
        found: formatSize(cache.maxEntry),
        hint: 'write less, or raise cache.maxBytes',
      }
    )
  })
}

/** The cache reads fields that the gateway sets, so a lifetime set on all responses stores a 500 like a 200. */
const lifetimeOfEveryStatus: WarningRule = ({ parsed: { upstreams }, config: { operations } }) =>
  groups.map((group) => {
    const cached = allOperations.filter(({ id, group: own }) => own === group && operations[id].cache !== null)
    return statedSides(group, upstreams[group]).map(({ path, stated }) =>
      stated.response?.set?.map(
        ({ name, value }) =>
          cached.length > 0 &&
          /^(cache-control|expires)$/i.test(name) && {
            path: [...path, 'response', 'set', name],
            message: /no-store|private/i.test(value)
              ? 'nothing is stored: the cache reads this in every response'
              : 'errors of the upstream are stored too: the cache reads this in every response, whatever its status',
            expected: `cache.ttl of ${cached.map(({ id }) => id).join(', ')}, which is for 200 unless it names others`,
            found: `${name} in every response of ${group}`,
            hint: `remove this line, and write ${cached[0]?.id}: { cache: { ttl: 60s } } under operations`,
          },
      ),
    )
  })

export const warnings: readonly WarningRule[] = [
  unusedCacheRedis,
  bypassedCache,
  entryWithoutRoom,
  lifetimeOfEveryStatus,
]
