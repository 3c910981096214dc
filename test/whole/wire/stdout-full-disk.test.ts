import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { key, verified } from '../../features/audit/sample-audit-log.ts'
import { fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { configText, type LogLine } from '../../helpers/gateway.ts'
import { mountsPermitted, onSmallDisk } from '../../helpers/mount-namespace.ts'
import { serve } from '../../helpers/serve-process.ts'

describe.skipIf(!mountsPermitted)('when stdout is a file on a disk that is full', () => {
  test('lines wait, then requests are rejected, and all goes on by itself when there is room', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'disk-'))
    onTestFinished(() => rmSync(disk, { recursive: true }))
    const way = fileWrittenInPlace(onTestFinished)
    writeFileSync(`${way.file}.key`, 'k'.repeat(32))
    way.write(
      configText({
        log: { buffer: '16KiB' },
        audit: { file: 'stdout', key: `file:${way.file}.key`, onFailure: 'reject' },
      }),
    )
    const served = serve(way.file, {}, [...onSmallDisk(disk), 'sh', '-c', 'exec "$@" >"$0/stdout"', disk])
    const inside = `/proc/${served.pid}/root${disk}`
    const readStdout = (): string => readFileSync(`${inside}/stdout`, 'utf8')
    await expect.poll(readStdout).toContain('"msg":"listening"')
    const port = Number(/"port":(\d+),[^\n]*"msg":"listening"/.exec(readStdout())?.[1])
    const ask = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/market/insights`)).status

    const before = new Set<number>()
    for (let asked = 0; !before.has(503) && asked < 2000; asked++) before.add(await ask())
    const full = readStdout()
    rmSync(`${inside}/filler`)
    await expect.poll(ask).toBe(200)
    await expect.poll(readStdout).toContain('"msg":"log lines dropped')
    const text = readStdout()

    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line): LogLine => JSON.parse(line))
    expect([...before]).toEqual([200, 503])
    expect(text.startsWith(full)).toBe(true)
    expect(lines.filter(({ msg }) => msg?.startsWith('log lines dropped'))).not.toEqual([])
    expect(verified([text.slice(0, text.lastIndexOf('\n') + 1)], { keys: [key], mixed: true }).findings).toEqual([])
  })
})
