/** The rotation of the audit log by the example for logrotate, and the removal of old files by the page's commands. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AuditLog, createAuditLog } from '../../features/audit/audit-log-place.ts'
import { fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { configText } from '../../helpers/gateway.ts'
import { needProgram } from '../../helpers/program.ts'
import { type ServeProcess, serve, waitForListening } from '../../helpers/serve-process.ts'
import { blocksBelow, textsOf } from './documented-steps.ts'
import { examples, read, scratch } from './files.ts'

const run = promisify(execFile)
const logrotate = await needProgram('logrotate')
const example = read(`${examples}/systemd/lender-gateway.logrotate`)
const folderInDocs = '/var/log/lender-gateway'
const dayMs = 86_400_000

type Ask = (times: number) => Promise<void>

/** Starts a gateway that writes an audit log, and returns what asks it. */
const start = async (audit: AuditLog, rotate = 'none') => {
  const way = fileWrittenInPlace(onTestFinished)
  way.write(configText({ audit: { ...audit.settings, rotate }, shutdown: { wait: '0ms' } }))
  const served = serve(way.file)
  const port = await waitForListening(served)
  const ask: Ask = async (times) => {
    for (let n = 0; n < times; n++) await (await fetch(`http://127.0.0.1:${port}/market/insights`)).arrayBuffer()
  }
  return { served, ask }
}

const stop = async (served: ServeProcess): Promise<void> => {
  served.signal('SIGTERM')
  await served.ended
}

/** Makes a file older than it is. */
const age = (file: string, days: number): void => {
  const at = (Date.now() - days * dayMs) / 1000
  utimesSync(file, at, at)
}

/** Names them, oldest first. */
const rotatedFiles = (audit: AuditLog): readonly string[] =>
  audit
    .files()
    .map((file) => basename(file))
    .filter((name) => name !== 'audit.log')

describe.skipIf(logrotate.missing)('logrotate with the example', () => {
  /** Prepares it for a folder, with a systemctl that knows one process. */
  const prepared = (audit: AuditLog, text = example) => {
    const folder = scratch({ conf: text.replaceAll(`${folderInDocs}/`, `${dirname(audit.file)}/`) })
    chmodSync(join(folder, 'conf'), 0o644) // it reads no file that a group may write to
    const know = (pid: number | undefined): void => {
      const signal = `[ "$1" = reload ] && signal=HUP || signal=0\nkill -$signal ${pid}\n`
      writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\n${signal}`, { mode: 0o755 })
    }
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const rotate = () =>
      run(logrotate.path ?? '', ['--force', '--state', join(folder, 'state'), join(folder, 'conf')], { env })
    return { know, rotate }
  }

  /** Has two lines written and the file rotated, so many times. */
  const rotateTimes = async (times: number, audit: AuditLog, ask: Ask, rotate: () => Promise<unknown>) => {
    for (let n = 0; n < times; n++) {
      await ask(2)
      await expect.poll(() => audit.lines().at(-1)?.event).toBe('exchange')
      await rotate()
      await expect.poll(() => existsSync(audit.file) && audit.lines().at(-1)?.event).toBe('reload')
    }
  }

  test('keeps files by number, and the chain is verified from the first line that is kept', async () => {
    const audit = createAuditLog(onTestFinished)
    const { know, rotate } = prepared(audit, example.replace('rotate 400', 'rotate 3'))
    const { served, ask } = await start(audit)
    know(served.pid)

    await rotateTimes(5, audit, ask, rotate)
    await stop(served)

    expect(rotatedFiles(audit)).toEqual(['audit.log.3', 'audit.log.2', 'audit.log.1'])
    expect(audit.lines()[0]).toMatchObject({ event: 'file', seq: expect.any(Number) })
    expect(await audit.verify()).toEqual({ code: 0, errors: '' })
  })

  test('keeps files by age, and the chain is verified from the first line that is kept', async () => {
    const audit = createAuditLog(onTestFinished)
    const { know, rotate } = prepared(audit)
    const { served, ask } = await start(audit)
    know(served.pid)

    await rotateTimes(3, audit, ask, rotate)
    for (const name of ['audit.log.3', 'audit.log.2']) age(join(dirname(audit.file), name), 402)
    age(join(dirname(audit.file), 'audit.log.1'), 398)
    await rotateTimes(1, audit, ask, rotate)
    await stop(served)

    expect(rotatedFiles(audit)).toEqual(['audit.log.2', 'audit.log.1'])
    expect(await audit.verify()).toEqual({ code: 0, errors: '' })
  })

  test('renames nothing while the gateway is stopped, so that the chain goes on with the next start', async () => {
    const audit = createAuditLog(onTestFinished)
    const { know, rotate } = prepared(audit)
    const first = await start(audit)
    know(first.served.pid)
    await first.ask(2)
    await stop(first.served)

    await expect(rotate()).rejects.toMatchObject({ code: 1 })
    const second = await start(audit)
    await stop(second.served)

    expect(rotatedFiles(audit)).toEqual([])
    expect(new Set(audit.lines().map((line) => line.audit)).size).toBe(1)
    expect(await audit.verify()).toEqual({ code: 0, errors: '' })
  })
})

describe('the commands of the page for files that the gateway has rotated', () => {
  const commands = textsOf(blocksBelow('docs/audit.md', '## Rotation'), 'sh').flatMap((text) => text.trim().split('\n'))

  test.each([
    ['age', commands[0] ?? ''],
    ['number', (commands[1] ?? '').replace('-400', '-2')],
  ])('keep them by %s, also behind the symbolic link of DynamicUser, and the chain is verified', async (_, command) => {
    const audit = createAuditLog(onTestFinished)
    const link = join(scratch({}), 'lender-gateway')
    symlinkSync(dirname(audit.file), link)
    const { served, ask } = await start(audit, '4KiB')
    while (rotatedFiles(audit).length < 4) await ask(10)
    await stop(served)
    for (const name of rotatedFiles(audit).slice(0, -2)) age(join(dirname(audit.file), name), 402)

    await run('sh', ['-c', command.replaceAll(folderInDocs, link)])

    expect(rotatedFiles(audit)).toHaveLength(2)
    expect(existsSync(audit.file)).toBe(true)
    expect(await audit.verify()).toEqual({ code: 0, errors: '' })
  })
})
