import { expect, test } from 'vitest'
import { configSchema } from '../../../src/core/config/config-schema.ts'
import { resolveConfig } from '../../../src/core/config/load/resolve-levels.ts'
import { formatKeyPath } from '../../../src/core/config/problem.ts'
import { collectWarnings } from '../../../src/core/config/warnings/warnings.ts'
import { validateClients } from '../../../src/features/auth/clients/client-list.ts'
import { groups } from '../../../src/operations.ts'

const candidate = { endpoints: ['sandbox'] }

interface Settings {
  readonly risk?: object
  readonly clients?: readonly unknown[]
  readonly [key: string]: unknown
}

/** Lists the warnings on a machine with so many cores: key path, and what was found there. */
const warned = ({ risk = {}, clients = [], ...settings }: Settings, cores = 4) => {
  const upstreams = {
    ...Object.fromEntries(groups.map((group) => [group, 'http://a'])),
    ...{ risk: { endpoints: ['http://a'], ...risk } },
  }
  const parsed = configSchema.parse({ ...settings, upstreams })
  const listed = validateClients(clients).clients
  return collectWarnings(parsed, resolveConfig(parsed, { clients: listed }), cores).map(
    ({ path, found }) => `${formatKeyPath(path)}: ${found}`,
  )
}

const caching = (maxBytes: string, maxEntry: string) => ({
  ...{ cache: { maxBytes }, operations: { 'market.insights': { cache: { maxEntry } } } },
})
const shadowed = (maxBody: string) => ({
  risk: { candidate: { ...candidate, shadow: { maxBody, maxBytes: '4MiB', posts: true, sideEffects: 'none' } } },
})
const bounded = {
  ...{ workers: 3, limits: { concurrency: 2 }, defaults: { concurrency: 1 }, risk: { concurrency: 2 } },
  operations: { 'market.insights': { concurrency: 2 }, 'leads.pipeline': { concurrency: 3 } },
}
const tooFew = ['limits: 2', 'defaults: 1', 'upstreams.risk: 2', 'operations.market.insights: 2'].map((each) =>
  each.replace(':', '.concurrency:'),
)
const clients = [3, 2, 1].map((concurrency) => ({ id: `b${concurrency}`, operations: 'all', concurrency }))
const ofClients = { workers: 3, auth: { methods: ['apiKey'] }, clients: [{ id: 'a', operations: 'all' }, ...clients] }
const ofBoth = { workers: 'auto', defaults: { maxConnections: 3 }, risk: { maxConnections: 1 } }
const ownIsEnough = { workers: 3, defaults: { maxConnections: 1 }, risk: { maxConnections: 9 } }
const maxEntry = 'operations.market.insights.cache.maxEntry'
const maxBody = 'upstreams.risk.candidate.shadow.maxBody'

test.each<[string, Settings, readonly string[]]>([
  ['one for each core', { workers: 4 }, []],
  ['more than there are cores', { workers: 5 }, ['workers: 5']],
  ['auto', { workers: 'auto' }, []],
  ['too few connections', { workers: 3, listen: { maxConnections: 2 } }, ['listen.maxConnections: 2']],
  ['as many connections as workers', { workers: 3, listen: { maxConnections: 3 } }, []],
  ['no bound', { workers: 3, listen: { maxConnections: 'none' } }, []],
  ['one, whatever the bounds', { workers: 1, listen: { maxConnections: 1 }, defaults: { maxConnections: 1 } }, []],
  ['a limit for every group', { workers: 3, defaults: { maxConnections: 2 } }, ['defaults.maxConnections: 2']],
  ['a bound of a group', { workers: 3, risk: { maxConnections: 2 } }, ['upstreams.risk.maxConnections: 2']],
  ['what may wait at a group', { workers: 3, risk: { maxPending: 2 } }, ['upstreams.risk.maxPending: 2']],
  ['none that may wait', { workers: 3, risk: { maxPending: 0 } }, []],
  ['exchanges in flight, wherever they are bounded', bounded, tooFew],
  ['exchanges of clients in flight, at the first of those with too few', ofClients, ['clients[2].concurrency: 2']],
  ['a limit and a bound of a group', ofBoth, ['defaults.maxConnections: 3', 'upstreams.risk.maxConnections: 1']],
  ['an entry that just fits, one', { workers: 1, ...caching('64MiB', '32MiB') }, []],
  ['an entry that just fits, four', { workers: 4, ...caching('64MiB', '8MiB') }, []],
  ['an entry with no room on its way', { workers: 1, ...caching('2MiB', '1025KiB') }, [`${maxEntry}: 1025KiB`]],
  ['an entry that none of several has', { workers: 'auto', ...caching('7MiB', '1MiB') }, [`${maxEntry}: 1MiB`]],
  ['a body for which each has room', { workers: 4, ...shadowed('1MiB') }, []],
  ['a body for which none has room', { workers: 'auto', ...shadowed('2MiB') }, [`${maxBody}: 2MiB`]],
  ['a group whose own bound can be divided, which is not meant', ownIsEnough, ['defaults.maxConnections: 1']],
])('of workers: %s', (_, settings, expected) => {
  expect(warned(settings)).toEqual(expected)
})

test('one worker on one core gets no warning', () => {
  expect(warned({ workers: 1 }, 1)).toEqual([])
})
