/** A real disk that gets full, and has room again, below a gateway of several processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../../../src/core/runtime/status/status-part.ts'
import { key, verified } from '../../../features/audit/sample-audit-log.ts'
import { fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { configText } from '../../../helpers/gateway.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { mountsPermitted, onSmallDisk } from '../../../helpers/mount-namespace.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'

test.skipIf(!mountsPermitted)(
  'a disk that gets full is told beforehand; full, requests go as configured, and all goes on when there is room',
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'disk-'))
    const way = fileWrittenInPlace(onTestFinished)
    writeFileSync(`${way.file}.key`, 'k'.repeat(32))
    const write = (onFailure: string): void => {
      const audit = { file: join(disk, 'audit.log'), key: `file:${way.file}.key`, onFailure }
      way.write(configText({ workers: 2, shutdown: { wait: '20s' }, audit }))
    }
    write('reject')
    const served = serve(way.file, {}, onSmallDisk(disk))
    onTestFinished(() => rmSync(disk, { recursive: true }))
    const port = await waitForListening(served)
    const { port: adminPort } = await served.line(({ msg }) => msg === 'admin listening')
    const admin = `http://127.0.0.1:${adminPort}`
    const inside = `/proc/${served.pid}/root${disk}`
    const fill = (name: string, bytes: number) => writeFileSync(join(inside, name), Buffer.alloc(bytes))
    const ask = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/market/insights`)).status
    const ready = async () => (await fetchAdmin(`${admin}/ready`)).body
    const status = async () =>
      (await fetchAdmin(`${admin}/status`)).body as unknown as Pick<Status, 'audit' | 'findings'>
    const reload = async (onFailure: string): Promise<void> => {
      write(onFailure)
      expect((await fetchAdmin(`${admin}/reload`, 'POST')).status).toBe(200)
    }

    await expect.poll(async () => (await status()).audit?.disk).toMatchObject({ sizeBytes: 98_304, low: false })
    expect((await status()).findings).toEqual([])
    fill('more', 20_480)
    served.signal('SIGHUP')
    const warned = await served.line(({ msg }) => msg === 'audit disk is nearly full')
    const { audit, findings } = await status()
    const metrics = await (await fetch(`${admin}/metrics`)).text()

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

    fill('last', 8192)
    const before = new Set<number>()
    let asked = 0
    while (!served.lines.some(({ msg }) => msg === 'audit cannot be written') && asked++ < 500) before.add(await ask())
    expect([...before].filter((each) => each !== 503)).toEqual([200])
    expect((await status()).audit).toMatchObject({ state: 'failing', reason: expect.stringContaining('ENOSPC') })
    for (const [onFailure, code, readiness] of [
      ['reject', 503, { ready: false, reason: 'audit-unavailable' }],
      ['continue', 200, { ready: true }],
      ['reject', 503, { ready: false, reason: 'audit-unavailable' }],
    ] as const) {
      await reload(onFailure)
      for (let n = 0; n < 3; n++, asked++) expect([onFailure, await ask()]).toEqual([onFailure, code])
      expect(await ready()).toEqual(readiness)
    }

    rmSync(`${inside}/filler`)
    await expect.poll(async () => (await status()).audit?.state).toBe('written')
    await expect.poll(ask).toBe(200) // workers learn it a moment later
    expect(await ready()).toEqual({ ready: true })
    // Those that were rejected meanwhile are recorded as well.
    await expect.poll(async () => (await status()).audit?.count).toBeGreaterThan(asked)
    const text = readFileSync(`${inside}/audit.log`)
    served.signal('SIGTERM')
    await served.line(({ msg }) => msg === 'stopping')
    expect(await ready()).toEqual({ ready: false, reason: 'draining' })
    expect(verified([text], { keys: [key] }).findings).toEqual([])
    expect(String(text).split('"event":"exchange"').length - 1).toBeGreaterThanOrEqual(asked)
    expect(existsSync(join(disk, 'audit.log'))).toBe(false)
  },
)
