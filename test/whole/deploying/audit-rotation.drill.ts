/** The rotation of the audit log by the example for logrotate, and the removal of old files by the page's commands. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { type AuditLog, createAuditLog, whole } from '../../features/audit/audit-log-place.ts'
import { fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { configText } from '../../helpers/gateway.ts'
import { needProgram } from '../../helpers/program.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { blocksBelow, textsOf } from './documented-steps.ts'
import { examples, read, scratch } from './files.ts'

const run = promisify(execFile)
const logrotate = await needProgram('logrotate')
const example = read(`${examples}/systemd/lender-gateway.logrotate`)
const folderInDocs = '/var/log/lender-gateway'
const dayMs = 86_400_000

/** Starts a gateway that writes an audit log, and returns what asks it and what stops it. */
const start = async (audit: AuditLog, rotate = 'none') => {
  const way = fileWrittenInPlace(onTestFinished)
  way.write(configText({ audit: { ...audit.settings, rotate }, shutdown: { wait: '0ms' } }))
  const served = serve(way.file)
  const port = await waitForListening(served)
  return {
    pid: served.pid,
    async ask(times: number): Promise<void> {
      for (let n = 0; n < times; n++) await (await fetch(`http://127.0.0.1:${port}/market/insights`)).arrayBuffer()
    },
    async stop(): Promise<void> {
      served.signal('SIGTERM')
      await served.ended
    },
  }
}

/** Makes files of a log older than they are. */
const age = (audit: AuditLog, names: readonly string[], days: number): void => {
  const at = (Date.now() - days * dayMs) / 1000
  for (const name of names) utimesSync(join(dirname(audit.file), name), at, at)
}

/** Names them, oldest first. */
const rotatedFiles = (audit: AuditLog): readonly string[] =>
  audit.files().flatMap((file) => (file === audit.file ? [] : [basename(file)]))

test.skipIf(logrotate.missing)(
  'logrotate with the example keeps files by age or by number, and leaves the log while the gateway is stopped',
  async () => {
    const audit = createAuditLog(onTestFinished)
    const { pid, ask, stop } = await start(audit)
    // A systemctl that knows one process.
    const signal = `[ "$1" = reload ] && signal=HUP || signal=0\nkill -$signal ${pid}\n`
    const folder = scratch({ systemctl: `#!/bin/sh\n${signal}` })
    chmodSync(join(folder, 'systemctl'), 0o755)
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const rotate = (text = example) => {
      writeFileSync(join(folder, 'conf'), text.replaceAll(`${folderInDocs}/`, `${dirname(audit.file)}/`))
      chmodSync(join(folder, 'conf'), 0o644) // it reads no file that a group may write to
      return run(logrotate.path ?? '', ['--force', '--state', join(folder, 'state'), join(folder, 'conf')], { env })
    }
    /** Has two lines written and the file rotated, so many times. */
    const rotateTimes = async (times: number, text = example): Promise<void> => {
      for (let n = 0; n < times; n++) {
        await ask(2)
        await expect.poll(() => audit.lines().at(-1)?.event).toBe('exchange')
        await rotate(text)
        await expect.poll(() => existsSync(audit.file) && audit.lines().at(-1)?.event).toBe('reload')
      }
    }

    await rotateTimes(3)
    age(audit, ['audit.log.3', 'audit.log.2'], 402)
    age(audit, ['audit.log.1'], 398)
    await rotateTimes(1)
    const byAge = [rotatedFiles(audit), await audit.verify()]
    await rotateTimes(2, example.replace('rotate 400', 'rotate 3'))
    const byNumber = rotatedFiles(audit)
    const [first] = audit.lines()
    await stop()
    await expect(rotate()).rejects.toMatchObject({ code: 1 })
    await (await start(audit)).stop()

    // The chain is verified from the first line that is kept, and goes on with the next start.
    expect(byAge).toEqual([['audit.log.2', 'audit.log.1'], whole])
    expect(byNumber).toEqual(['audit.log.3', 'audit.log.2', 'audit.log.1'])
    expect(first).toMatchObject({ event: 'file', seq: expect.any(Number) })
    // It has given those that have a number another one by then, and left the log itself.
    expect(rotatedFiles(audit)).toEqual(['audit.log.4', 'audit.log.3', 'audit.log.2'])
    expect(new Set(audit.lines().map((line) => line.audit)).size).toBe(1)
    expect(await audit.verify()).toEqual(whole)
  },
)

test('the commands of the page remove rotated files by age, then by number, also behind a symbolic link', async () => {
  const blocks = textsOf(blocksBelow('docs/audit.md', '## Rotation'), 'sh')
  const [byAge = '', byNumber = ''] = blocks.flatMap((text) => text.trim().split('\n'))
  const audit = createAuditLog(onTestFinished)
  const link = join(scratch({}), 'lender-gateway') // as DynamicUser has it
  symlinkSync(dirname(audit.file), link)
  const { ask, stop } = await start(audit, '4KiB')
  while (rotatedFiles(audit).length < 5) await ask(10)
  await stop()
  age(audit, rotatedFiles(audit).slice(0, -3), 402)

  for (const [command, kept] of [[byAge, 3] as const, [byNumber.replace('-400', '-2'), 2] as const]) {
    await run('sh', ['-c', command.replaceAll(folderInDocs, link)])
    expect(rotatedFiles(audit)).toHaveLength(kept)
    expect(existsSync(audit.file)).toBe(true)
    expect(await audit.verify()).toEqual(whole)
  }
})
