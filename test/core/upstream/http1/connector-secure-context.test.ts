import type tls from 'node:tls'
import { expect, test, vi } from 'vitest'
import { checkReachable } from '../../../../src/core/upstream/health/preflight.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

vi.mock('node:tls', async (original) => {
  const { createSecureContext, ...rest } = await original<typeof tls>()
  return { ...rest, createSecureContext: vi.fn(createSecureContext) }
})

test('the authorities are read once for all endpoints of a group, and again for other settings', async () => {
  const origin = `https://127.0.0.1:${await freePort()}`
  const upstream = upstreamConfig(origin)
  const read = vi.mocked((await import('node:tls')).createSecureContext)
  const countFailures = async (times: number, as: typeof upstream) => {
    const all = Array.from({ length: times }, () => checkReachable(origin, as, 'connect'))
    return (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected').length
  }

  const failed = await countFailures(256, upstream)
  const once = read.mock.calls.length
  await countFailures(2, { ...upstream, tls: { ...upstream.tls, minVersion: 'TLSv1.3' } })

  expect(failed).toBe(256)
  expect([once, read.mock.calls.length]).toEqual([1, 2])
})
