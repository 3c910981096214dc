import { describe, expect, test } from 'vitest'
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

/** Lists the warnings on a machine with four cores: key path, and what was found there. */
const warned = ({ risk = {}, clients = [], ...settings }: Settings) => {
  const upstreams = {
    ...Object.fromEntries(groups.map((group) => [group, 'http://a'])),
    ...{ risk: { endpoints: ['http://a'], ...risk } },
  }
  const parsed = configSchema.parse({ ...settings, upstreams })
  const listed = validateClients(clients).clients
  return collectWarnings(parsed, resolveConfig(parsed, { clients: listed }), 4).map(
    ({ path, found }) => `${formatKeyPath(path)}: ${found}`,
  )
}

describe('of workers', () => {
  test.each<[string, Parameters<typeof warned>[0], readonly string[]]>([
    ['one for each core is meant', { workers: 4 }, []],
    ['more than there are cores are not', { workers: 5 }, ['workers: 5']],
    ['auto never are', { workers: 'auto' }, []],
    [
      'so few connections that one is too many for some',
      { workers: 3, listen: { maxConnections: 2 } },
      ['listen.maxConnections: 2'],
    ],
    ['as many connections as workers', { workers: 3, listen: { maxConnections: 3 } }, []],
    ['no bound', { workers: 3, listen: { maxConnections: 'none' } }, []],
    [
      'one worker, whatever the bounds',
      { workers: 1, listen: { maxConnections: 1 }, defaults: { maxConnections: 1 } },
      [],
    ],
    [
      'a limit for every group, reported once',
      { workers: 3, defaults: { maxConnections: 2 } },
      ['defaults.maxConnections: 2'],
    ],
    ['the bound of a group', { workers: 3, risk: { maxConnections: 2 } }, ['upstreams.risk.maxConnections: 2']],
    ['what may wait at a group', { workers: 3, risk: { maxPending: 2 } }, ['upstreams.risk.maxPending: 2']],
    ['none that may wait', { workers: 3, risk: { maxPending: 0 } }, []],
    [
      'exchanges in flight, wherever they are bounded',
      {
        workers: 3,
        limits: { concurrency: 2 },
        defaults: { concurrency: 1 },
        risk: { concurrency: 2 },
        operations: { 'market.insights': { concurrency: 2 }, 'leads.pipeline': { concurrency: 3 } },
      },
      [
        'limits.concurrency: 2',
        'defaults.concurrency: 1',
        'upstreams.risk.concurrency: 2',
        'operations.market.insights.concurrency: 2',
      ],
    ],
    [
      'exchanges of clients in flight, at the first of those with too few',
      {
        workers: 3,
        auth: { methods: ['apiKey'] },
        clients: [
          { id: 'a', operations: 'all' },
          ...[3, 2, 1].map((concurrency) => ({ id: `b${concurrency}`, operations: 'all', concurrency })),
        ],
      },
      ['clients[2].concurrency: 2'],
    ],
    [
      'both',
      { workers: 'auto', defaults: { maxConnections: 3 }, risk: { maxConnections: 1 } },
      ['defaults.maxConnections: 3', 'upstreams.risk.maxConnections: 1'],
    ],
    ...[1, 4].map((workers): [string, Parameters<typeof warned>[0], readonly string[]] => [
      `an entry that just fits on its way to the cache of each of ${workers}`,
      {
        workers,
        cache: { maxBytes: '64MiB' },
        operations: { 'market.insights': { cache: { maxEntry: `${32 / workers}MiB` } } },
      },
      [],
    ]),
    [
      'an entry for which the one has no room on its way',
      {
        workers: 1,
        cache: { maxBytes: '2MiB' },
        operations: { 'market.insights': { cache: { maxEntry: '1025KiB' } } },
      },
      ['operations.market.insights.cache.maxEntry: 1025KiB'],
    ],
    [
      'an entry for which each of several has no room on its way',
      { workers: 'auto', cache: { maxBytes: '7MiB' }, operations: { 'market.insights': { cache: true } } },
      ['operations.market.insights.cache.maxEntry: 1MiB'],
    ],
    [
      'a body for which each has room',
      {
        workers: 4,
        risk: {
          candidate: { ...candidate, shadow: { maxBody: '1MiB', maxBytes: '4MiB', posts: true, sideEffects: 'none' } },
        },
      },
      [],
    ],
    [
      'a body for which none has room',
      {
        workers: 'auto',
        risk: {
          candidate: { ...candidate, shadow: { maxBody: '2MiB', maxBytes: '4MiB', posts: true, sideEffects: 'none' } },
        },
      },
      ['upstreams.risk.candidate.shadow.maxBody: 2MiB'],
    ],
    [
      'a group whose own bound can be divided is not meant',
      { workers: 3, defaults: { maxConnections: 1 }, risk: { maxConnections: 9 } },
      ['defaults.maxConnections: 1'],
    ],
  ])('%s', (_, settings, expected) => {
    expect(warned(settings)).toEqual(expected)
  })
})

test('one worker on one core gets no warning', () => {
  const parsed = configSchema.parse({
    workers: 1,
    upstreams: Object.fromEntries(groups.map((group) => [group, 'http://a'])),
  })

  expect(collectWarnings(parsed, resolveConfig(parsed), 1)).toEqual([])
})
