import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { fileReplacedByRename } from '../../helpers/editable-file.ts'
import { configText } from '../../helpers/gateway.ts'
import { bootGatewayProcess } from '../../helpers/gateway-process.ts'
import { gatherText } from '../../helpers/gather-text.ts'
import { needProgram } from '../../helpers/program.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { serve } from '../../helpers/serve-process.ts'
import { bareGet } from '../../helpers/wire.ts'

const main = fileURLToPath(new URL('../../../src/lender-gateway.js', import.meta.url))
const bufferBytes = 64 * 1024
// What Linux keeps of an unread pipe.
const pipeBytes = 64 * 1024

/** Opens a pipe that stays unread until the test calls `read`. */
const openPipe = (): { writeEnd: number; read: () => Socket; text: () => string } => {
  const fifo = join(folderWith({}), 'pipe')
  execFileSync('mkfifo', [fifo])
  const readEnd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  const writeEnd = openSync(fifo, constants.O_WRONLY)
  let text = () => ''
  const read = (): Socket => {
    const reader = new Socket({ fd: readEnd, readable: true, writable: false })
    onTestFinished(() => void reader.destroy())
    text = gatherText(reader)
    return reader
  }
  return { writeEnd, read, text: () => text() }
}

/**
 * Sends requests on one connection, each after the response to the one before. Resolves with how many got responses.
 */
const exchanges = async (port: number, count: number): Promise<number> => {
  const client = await rawClient(port)
  for (let n = 1; n <= count; n++) {
    client.send(bareGet('/nowhere'))
    await client.until((text) => text.split('"requestId"').length === n + 1 && text.endsWith('}'))
  }
  client.close()
  return count
}

test('exchanges go on while the reader stalls, with a bounded number of lines that wait and the others counted, and when it has gone', async () => {
  const { writeEnd, read, text } = openPipe()
  const gateway = await bootGatewayProcess({ log: { buffer: '64KiB' } }, writeEnd)
  closeSync(writeEnd)

  const rounds = await Promise.all(Array.from({ length: 10 }, () => exchanges(gateway.port, 60)))

  const { dropped } = await gateway.census()
  const responded = rounds.reduce((sum, each) => sum + each, 0)
  const reader = read()
  const lines = () => {
    const whole = text().split('\n').slice(0, -1)
    return whole.map((line) => JSON.parse(line) as { msg: string; dropped?: number })
  }
  const written = () => lines().filter(({ msg }) => msg === 'exchange').length
  const reported = () => lines().reduce((sum, line) => sum + (line.dropped ?? 0), 0)
  await expect.poll(() => [written() + dropped, reported()]).toEqual([600, dropped])
  expect(responded).toBe(600)
  expect(dropped).toBeGreaterThan(0)
  expect(Buffer.byteLength(text())).toBeLessThan(pipeBytes + bufferBytes + 4096)

  reader.destroy()
  await once(reader, 'close')

  expect(await exchanges(gateway.port, 300)).toBe(300)
  expect(await gateway.close()).toBe(0)
})

test('a process whose reader has stalled ends on SIGTERM all the same', async () => {
  const { writeEnd, read, text } = openPipe()
  const file = join(folderWith({}), 'gateway.yaml')
  writeFileSync(file, configText({ log: { buffer: '64KiB' }, shutdown: { wait: '0s' } }))
  const child = spawn(process.execPath, [main, 'serve', '--config', file], { stdio: ['ignore', writeEnd, 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  closeSync(writeEnd)
  const reader = read()
  while (!text().includes('"listening"')) await once(reader, 'data')
  reader.pause()
  const port = Number(/"port":(\d+)/.exec(text())?.[1])
  await Promise.all(Array.from({ length: 10 }, () => exchanges(port, 100)))
  const exit = once(child, 'exit')

  const signaledAt = performance.now()
  child.kill('SIGTERM')

  expect(await exit).toEqual([0, null])
  expect(performance.now() - signaledAt).toBeLessThan(15_000) // and not at shutdown.deadline, after 25 s
})

test('in another format every line is in it, those of workers as well, by the name of now, and none of the audit log', async () => {
  const { file, write } = fileReplacedByRename(onTestFinished)
  const audit = { ...createAuditLog(onTestFinished).settings, file: 'stdout' }
  const named = (name: string): string =>
    configText({ workers: 2, log: { format: 'ecs' }, audit, instance: { name }, shutdown: { wait: '0s' } })
  write(named('blue'))
  const gateway = serve(file)
  const listening = await gateway.line(({ message }) => message === 'listening')

  write(named('green'))
  gateway.signal('SIGHUP')
  await gateway.line(({ message }) => message === 'configuration applied')
  const responded = await exchanges(Number(listening['lender_gateway.port']), 5)
  gateway.signal('SIGTERM')
  await gateway.ended

  const formatted = gateway.lines.filter((line) => '@timestamp' in line)
  const others = gateway.lines.filter((line) => !('@timestamp' in line))
  const written = formatted.filter(({ message }) => message === 'exchange')
  expect(written.map((line) => line['service.node.name'])).toEqual(new Array(responded).fill('green'))
  expect(listening['service.node.name']).toBe('blue')
  expect(formatted.filter((line) => 'level' in line || 'msg' in line)).toEqual([])
  expect(others.length).toBeGreaterThan(responded)
  expect(others.filter((line) => !('seq' in line))).toEqual([])
})

const script = await needProgram('script')

test.skipIf(script.missing)('in a terminal the log is for people, those of workers and of any format', async () => {
  const file = join(folderWith({}), 'gateway.yaml')
  writeFileSync(file, configText({ workers: 2, log: { format: 'ecs' }, shutdown: { wait: '0s' } }))
  // `exec`: a shell in between would die of Ctrl-C itself, and `script` would return the shell's status.
  const serve = `exec '${process.execPath}' '${main}' serve --config '${file}'`
  const terminal = spawn(script.path ?? '', ['--quiet', '--return', '--command', serve, '/dev/null'])
  onTestFinished(() => void terminal.kill('SIGKILL'))
  const text = gatherText(terminal.stdout)
  const shows = async (wanted: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = wanted.exec(text())
      if (found !== null) return found
      await once(terminal.stdout, 'data')
    }
  }

  const [, port] = await shows(/listening.*?"?port"?:\s*(\d+)/s)
  const response = await exchangeRaw(Number(port), bareGet())
  const [line] = await shows(/^.*exchange.*market\.insights.*$/m)
  const exit = once(terminal, 'exit')
  terminal.stdin.write('\x03')

  expect(parseStatus(response)).toBe(200)
  expect(line).not.toMatch(/^\{/)
  expect(line).toMatch(/\d\d:\d\d:\d\d/)
  expect(await exit).toEqual([0, null])
})
