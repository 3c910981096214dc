import { describe, expect, test } from 'vitest'
import { zeroCacheOutcomes, zeroRedisCacheCounts } from '../../../../../src/features/cache/store/stored-response.ts'
import { jsonResponse, runCommand, scriptedAdmin } from '../../../../core/cli/scripted-admin.ts'
import { healthyStatus, runStatus } from '../../../../core/cli/status-fixtures.ts'

const clear = (admin: string, ...args: readonly string[]) => runCommand(['cache', 'clear', ...args, '--admin', admin])

describe('cache clear', () => {
  test.each([
    [[], 2, '', ' is cleared: 2 responses'],
    [['market.insights'], 2, '?operation=market.insights', ' of market.insights is cleared: 2 responses'],
    [['--client', 'bank-a'], 1, '?client=bank-a', ' is cleared for bank-a: 1 response'],
    [['--client', ''], 1, '?client=', ' is cleared for requests without a client: 1 response'],
    [
      ...([['market.insights', '--client', 'a&b'], 1] as const),
      ...(['?operation=market.insights&client=a%26b', ' of market.insights is cleared for a&b: 1 response'] as const),
    ],
  ] as const)('%j, where %i are removed, asks DELETE /cache%s', async (args, removed, query, told) => {
    const admin = await scriptedAdmin(jsonResponse({ operation: null, client: null, removed }))

    expect(await clear(admin.url, ...args)).toEqual({ code: 0, err: '', out: `the cache${told} removed\n` })
    expect(admin.received.map((each) => each.request)).toEqual([`DELETE /cache${query}`])
  })

  test('prints JSON for programs', async () => {
    const admin = await scriptedAdmin(jsonResponse({ operation: 'market.insights', client: null, removed: 0 }))
    const { out } = await clear(admin.url, 'market.insights', '--format', 'json')

    expect(JSON.parse(out)).toEqual({ operation: 'market.insights', client: null, removed: 0 })
  })

  test('ends with 1 where Redis does not respond, and prints what that means', async () => {
    const detail = '3 were removed here, but Redis did not reply'
    const admin = await scriptedAdmin(jsonResponse({ code: 'redis-not-replying', detail }, 503))
    const { code, out, err } = await clear(admin.url)

    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toBe(`lender-gateway: ${admin.url} has not removed all responses: ${detail}\n`)
  })

  test.each([
    ['an operation that is never stored', ['clear', 'inventory.sync']],
    ['an unknown action', ['empty']],
  ])('%s is wrong usage, and no gateway is asked', async (_, args) => {
    const admin = await scriptedAdmin(jsonResponse({}))
    const { code, err } = await runCommand(['cache', ...args, '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('Allowed choices are')
    expect(admin.received).toEqual([])
  })
})

describe('status', () => {
  const operations = {
    'leads.pipeline': { bytes: 0, entries: 0, hitRatio: null, ...zeroCacheOutcomes },
    'market.insights': { bytes: 1_204_224, entries: 12, hitRatio: 0.8314, ...zeroCacheOutcomes, hit: 100 },
  }
  const cache = { bytes: 1_300_000, maxBytes: 67_108_864, evictions: 0, redis: null, operations }

  test('shows bytes, entries and hit ratio of each cached operation', async () => {
    const { out } = await runStatus({ ...healthyStatus, cache })

    expect(out).toContain(`
cache            entries  bytes                hits since the start
leads.pipeline   0        0 B                  no requests
market.insights  12       1.1 MiB              83.1%
total                     1.2 MiB of 64.0 MiB
`)
  })

  test.each([
    [{ state: 'shared', reason: null, where: null }, 'shared with other gateways \\(redis:6379\\)'],
    [
      { state: 'local', reason: 'no reply within 20ms', where: 'in 1 of 2 workers' },
      'redis:6379 CANNOT BE USED in 1 of 2 workers since 2026-11-21T02:04:00Z, 1m ago: no reply within 20ms',
    ],
  ])('shows the state of Redis: %j', async (redis, text) => {
    const told = { server: 'redis:6379', since: '2026-11-21T02:04:00.000Z', ...zeroRedisCacheCounts }
    const { out } = await runStatus({ ...healthyStatus, cache: { ...cache, redis: { ...redis, ...told } } })

    expect(out).toMatch(new RegExp(`^redis +${text}$`, 'm'))
  })

  test('shows no cache where no operation is cached', async () => {
    const { code, out } = await runStatus({ ...healthyStatus, cache: null })

    expect(code).toBe(0)
    expect(out).not.toContain('cache')
  })
})
