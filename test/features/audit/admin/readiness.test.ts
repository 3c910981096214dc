/**
 * What /ready says of this gateway, with all that it depends on in every combination, and of real gateways that have
 * lost it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { AdminContext } from '../../../../src/core/admin/admin-context.ts'
import { getNotReadyReason } from '../../../../src/core/admin/api/readiness.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { mountsPermitted, onSmallDisk } from '../../../helpers/mount-namespace.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'

test('it is ready but while it drains, serves no client, or rejects all for want of a record; the reason is the first of these', () => {
  const reasons = [null, 'starting', 'not-listening', 'no-worker'] as const
  fc.assert(
    fc.property(
      fc.record({
        draining: fc.boolean(),
        notServing: fc.constantFrom(...reasons),
        rejects: fc.constantFrom(null, 'audit-unavailable'),
      }),
      ({ draining, notServing, rejects }) => {
        const context = {
          draining: () => draining,
          notServing: () => notServing,
          parts: { audit: { rejectsAll: () => rejects } },
        } as unknown as AdminContext

        expect(getNotReadyReason(context)).toBe(draining ? 'draining' : (notServing ?? rejects))
      },
    ),
  )
})

/** Closes the listening socket of this process at a port, as nothing in the gateway does. */
const closeListener = (port: number): void => {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): readonly unknown[] }
  for (const handle of handles.call(process)) {
    if (!(handle instanceof Server)) continue
    const address = handle.address()
    if (address !== null && typeof address === 'object' && address.port === port) Server.prototype.close.call(handle)
  }
}

test.each([
  ['one process', {}],
  ['workers', { workers: 2 }],
])('a gateway of %s whose listener is gone is not ready, and says so', async (_, settings: Settings) => {
  const live = await bootLiveGateway(settings)
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

test.skipIf(!mountsPermitted)(
  'a full disk counts as long as the file says refuse, and a draining gateway says that first',
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'disk-'))
    const folder = mkdtempSync(join(tmpdir(), 'ready-'))
    onTestFinished(() => {
      rmSync(folder, { recursive: true })
      rmSync(disk, { recursive: true })
    })
    const [file, key] = [join(folder, 'gateway.yaml'), join(folder, 'key')]
    writeFileSync(key, 'k'.repeat(32))
    const write = (onFailure: string): void => {
      const audit = { file: join(disk, 'audit.log'), key: `file:${key}`, onFailure }
      writeFileSync(file, configText({ audit, reload: { watch: false }, shutdown: { wait: '20s' } }))
    }
    write('refuse')
    const served = serve(file, {}, onSmallDisk(disk))
    const port = await waitForListening(served)
    const { port: admin } = await served.line(({ msg }) => msg === 'admin listening')
    const ready = async () => (await fetchAdmin(`http://127.0.0.1:${admin}/ready`)).body
    const reload = async (onFailure: string): Promise<void> => {
      write(onFailure)
      await fetchAdmin(`http://127.0.0.1:${admin}/reload`, 'POST')
    }
    for (let n = 0; n < 2000 && !served.lines.some(({ msg }) => msg === 'audit cannot be written'); n++)
      await fetch(`http://127.0.0.1:${port}/market/insights`)

    const refusing = await ready()
    await reload('continue')
    const continuing = await ready()
    await reload('refuse')
    const again = await ready()
    served.signal('SIGTERM')
    await served.line(({ msg }) => msg === 'stopping')
    const draining = await ready()

    expect([refusing, continuing, again, draining]).toEqual([
      { ready: false, reason: 'audit-unavailable' },
      { ready: true },
      { ready: false, reason: 'audit-unavailable' },
      { ready: false, reason: 'draining' },
    ])
  },
)
