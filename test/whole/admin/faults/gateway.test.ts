/** Faults of what the gateway itself stands on, and what an operator reads of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { hurryClock } from '../../../helpers/odd-clocks.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { lacks, shows, symptom } from './symptom.ts'

const program = await needProgram('redis-server')

test('an edit that was refused is named, with the place and the problem', async () => {
  const live = await bootLiveGateway()
  await lacks(live.admin, symptom(6))

  live.edit({ upstreams: { market: 'market-b.internal:8080' } })
  expect((await fetch(`${live.admin}/reload`, { method: 'POST' })).status).toBe(422)

  const { command } = await shows(live.admin, symptom(6))
  expect(command).toBe(`${programCommand()} check ${live.file}`)
  expect(await runCommand(['check', live.file])).toMatchObject({
    code: 1,
    out: expect.stringContaining('upstreams.market: not a URL'),
  })
})

test.each([
  ['that needs a restart', { workers: 2 }, 'it needs a restart'],
  ['whose audit file cannot be opened', { audit: { file: '/nowhere/audit.log', key: 'file:audit.key' } }, 'ENOENT'],
])('an edit %s leads to the command that says so again', async (_, settings, reason) => {
  const live = await bootLiveGateway()
  writeFileSync(join(live.folder, 'audit.key'), 'k'.repeat(32), { mode: 0o600 })
  live.edit(settings)

  expect((await fetch(`${live.admin}/reload`, { method: 'POST' })).status).toBe(422)

  const { findings } = (await fetchAdmin(`${live.admin}/status`)).body
  expect(withoutLateness(findings)).toMatchObject([
    { about: 'config', command: expect.stringContaining(' reload --config ') },
  ])
  expect(await runCommand(['check', live.file])).toMatchObject({ code: 0 })
  expect(await runCommand(['reload', '--admin', live.admin])).toMatchObject({
    code: 1,
    out: expect.stringContaining(reason),
  })
})

describe.skipIf(program.missing)('Redis', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
  })
  afterAll(() => redis.kill())

  test('that is gone is named, with why, and what that means', async () => {
    const live = await bootLiveGateway({
      limits: { address: { rate: '100/s', burst: 100 }, redis: { url: redis.url, timeout: '1s' } },
    })
    await live.line(({ msg }) => msg === 'limits are shared')
    await lacks(live.admin, symptom(10))

    await redis.kill()

    await shows(live.admin, symptom(10))
  })

  test('that is gone is named where it remembers proofs alone, and the metric for the alert says so', async () => {
    await redis.kill()
    const live = await bootLiveGateway({
      ...tokenBindingSettings(signingKey('ES256', 'issuer'), { dpop: {} }),
      limits: { redis: { url: redis.url } },
    })
    await live.line(({ msg }) => msg === 'limits are not shared')

    const { findings } = (await fetchAdmin(`${live.admin}/status`)).body
    const metrics = await (await fetch(`${live.admin}/metrics`)).text()

    expect(withoutLateness(findings)).toMatchObject([
      {
        severity: 'critical',
        about: 'redis',
        cause: expect.stringMatching(
          /^Redis \(.+\) cannot be asked \(.+\): requests with a DPoP proof are refused \(auth\.dpop\.withoutRedis: refuse\)$/,
        ),
      },
    ])
    expect(metrics).toMatch(/^lender_gateway_rate_limits_shared 0$/m)
  })
})

test('an event loop that is starved is named, with how late it is', async () => {
  const live = await bootLiveGateway({ limits: { eventLoopDelay: '1s' } })
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  await lacks(live.admin, symptom(12))

  hurryClock()
  await expect.poll(async () => (await fetch(`${live.url}/market/insights`)).status).toBe(503)

  await shows(live.admin, symptom(12))
})
