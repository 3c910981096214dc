import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../../../src/core/runtime/status/status-part.ts'
import { key, verified } from '../../../features/audit/sample-audit-log.ts'
import { fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { configText } from '../../../helpers/gateway.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { mountsPermitted, onSmallDisk } from '../../../helpers/mount-namespace.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'

describe.skipIf(!mountsPermitted)('on a disk that gets full', () => {
  test('status, the log and a metric say so while all lines are written yet, once for all workers', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'disk-'))
    const way = fileWrittenInPlace(onTestFinished)
    writeFileSync(`${way.file}.key`, 'k'.repeat(32))
    way.write(configText({ workers: 2, audit: { file: join(disk, 'audit.log'), key: `file:${way.file}.key` } }))
    const served = serve(way.file, {}, onSmallDisk(disk))
    onTestFinished(() => rmSync(disk, { recursive: true }))
    await waitForListening(served)
    const { port } = await served.line(({ msg }) => msg === 'admin listening')
    const status = async () =>
      (await fetchAdmin(`http://127.0.0.1:${port}/status`)).body as unknown as Pick<Status, 'audit' | 'findings'>

    await expect.poll(async () => (await status()).audit?.disk).toMatchObject({ sizeBytes: 98_304, low: false })
    const before = await status()
    writeFileSync(`/proc/${served.pid}/root${disk}/more`, Buffer.alloc(20_480))
    served.signal('SIGHUP')
    const warned = await served.line(({ msg }) => msg === 'audit disk is nearly full')
    const { audit, findings } = await status()
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()

    expect(before.findings).toEqual([])
    expect(warned).toMatchObject({ level: 40, file: join(disk, 'audit.log'), freeBytes: 8192, sizeBytes: 98_304 })
    expect(audit).toMatchObject({ state: 'written', disk: { freeBytes: 8192, low: true } })
    expect(findings).toMatchObject([
      {
        severity: 'warning',
        about: 'audit',
        cause: expect.stringMatching(/has 8\.0 KiB free of 96\.0 KiB: requests are/),
      },
    ])
    expect(metrics).toMatch(/^lender_gateway_audit_disk_free_bytes 8192$/m)
    served.signal('SIGTERM')
    await served.ended
  })
})

describe.skipIf(!mountsPermitted)('on a disk that is full', () => {
  test.each([
    ['refuse', 2],
    ['continue', 1],
  ])(
    'requests go as configured, and all goes on by itself when there is room: %s, workers: %i',
    async (onFailure, workers) => {
      const disk = mkdtempSync(join(tmpdir(), 'disk-'))
      const way = fileWrittenInPlace(onTestFinished)
      writeFileSync(`${way.file}.key`, 'k'.repeat(32))
      way.write(
        configText({
          workers,
          shutdown: { wait: '0ms' },
          audit: { file: join(disk, 'audit.log'), key: `file:${way.file}.key`, onFailure },
        }),
      )
      const served = serve(way.file, {}, onSmallDisk(disk))
      onTestFinished(() => rmSync(disk, { recursive: true }))
      const port = await waitForListening(served)
      const { port: admin } = await served.line(({ msg }) => msg === 'admin listening')
      const inside = `/proc/${served.pid}/root${disk}`
      const ask = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/market/insights`)).status
      const ready = async () => (await fetchAdmin(`http://127.0.0.1:${admin}/ready`)).body
      const audit = async () =>
        (await fetchAdmin(`http://127.0.0.1:${admin}/status`)).body as {
          readonly audit?: { readonly state: string; readonly reason: string; readonly count: number }
        }

      const [before, meanwhile, afterwards] = [new Set<number>(), new Set<number>(), new Set<number>()]
      let asked = 0
      while (!served.lines.some(({ msg }) => msg === 'audit cannot be written') && asked++ < 2000)
        before.add(await ask())
      const failing = await audit()
      const readyMeanwhile = await ready()
      for (let n = 0; n < 20; n++) meanwhile.add(await ask())
      rmSync(`${inside}/filler`)
      await expect.poll(async () => (await audit()).audit?.state).toBe('written')
      await expect.poll(ask).toBe(200) // workers learn it a moment later
      for (let n = 0; n < 5; n++) afterwards.add(await ask())
      const readyAfterwards = await ready()
      await expect.poll(async () => (await audit()).audit?.count).toBeGreaterThan(asked + 25) // and the first line
      const text = readFileSync(`${inside}/audit.log`)
      served.signal('SIGTERM')
      await served.ended

      expect(failing.audit).toMatchObject({ state: 'failing', reason: expect.stringContaining('ENOSPC') })
      expect([...before].filter((status) => status !== 503)).toEqual([200])
      expect([...meanwhile]).toEqual([onFailure === 'refuse' ? 503 : 200])
      expect([...afterwards]).toEqual([200])
      expect(readyMeanwhile).toEqual(
        onFailure === 'refuse' ? { ready: false, reason: 'audit-unavailable' } : { ready: true },
      )
      expect(readyAfterwards).toEqual({ ready: true })
      expect(verified([text], { keys: [key] }).findings).toEqual([])
      // Those that were rejected meanwhile stand there as well.
      expect(String(text).split('"event":"exchange"').length - 1).toBeGreaterThanOrEqual(asked + 25)
      expect(existsSync(join(disk, 'audit.log'))).toBe(false)
    },
  )
})
