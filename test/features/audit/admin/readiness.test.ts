/** /ready with every dependency, and without a listener. */
import { Server } from 'node:net'
import { expect, test } from 'vitest'
import type { AdminContext } from '../../../../src/core/admin/admin-context.ts'
import { getNotReadyReason } from '../../../../src/core/admin/api/readiness.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

test.each([
  [true, 'starting', 'audit-unavailable', 'draining'],
  [false, 'not-listening', 'audit-unavailable', 'not-listening'],
  [false, 'no-worker', null, 'no-worker'],
  [false, null, 'audit-unavailable', 'audit-unavailable'],
  [false, null, null, null],
] as const)('draining: %s, serving no client: %s, rejecting all: %s is the reason %s', (...row) => {
  const [draining, notServing, rejects, reason] = row
  const context = {
    draining: () => draining,
    notServing: () => notServing,
    parts: { audit: { rejectsAll: () => rejects } },
  } as unknown as AdminContext

  expect(getNotReadyReason(context)).toBe(reason)
})

/** Closes a listening socket behind the gateway's back. */
const closeListener = (port: number): void => {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): readonly unknown[] }
  for (const handle of handles.call(process)) {
    if (!(handle instanceof Server)) continue
    const address = handle.address()
    if (address !== null && typeof address === 'object' && address.port === port) Server.prototype.close.call(handle)
  }
}

test('a gateway whose listener is gone is not ready, and says so', async () => {
  const live = await bootLiveGateway()
  const before = await fetchAdmin(`${live.admin}/ready`)

  closeListener(live.gateway.address.port)
  const after = await fetchAdmin(`${live.admin}/ready`)
  const { body } = await fetchAdmin(`${live.admin}/status`)

  expect([before.status, before.body]).toEqual([200, { ready: true }])
  expect([after.status, after.body]).toEqual([503, { ready: false, reason: 'not-listening' }])
  expect(body).toMatchObject({ state: 'not serving', ready: false, notReady: 'not-listening' })
  expect(body.findings).toContainEqual(
    expect.objectContaining({ severity: 'critical', cause: expect.stringContaining('the public listener is closed') }),
  )
})
