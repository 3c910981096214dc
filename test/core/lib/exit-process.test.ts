import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const source = new URL('../../../src/core/lib/program.ts', import.meta.url).href

/** Runs a script that exits with 3 at its end; `pipe`: without a writer. */
const run = async (script: string, prefix: readonly string[] = []) => {
  const folder = mkdtempSync(join(tmpdir(), 'exit-'))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const module = `
    import { open } from 'node:fs/promises'
    import { exitProcess } from ${JSON.stringify(source)}
    const pipe = ${JSON.stringify(pipe)}
    process.on('exit', () => console.log('listeners ran'))
    ${script}
    exitProcess(3)`
  const [command = '', ...args] = [...prefix, process.execPath, '--input-type=module', '-e', module]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const [code, signal] = await once(child, 'close')
  return { code, signal, out }
}

const asFirstProcess = ['unshare', '--map-root-user', '--pid', '--fork', '--kill-child']
const [unshare = '', ...unshareOptions] = asFirstProcess
const isPermitted = spawnSync(unshare, [...unshareOptions, 'true']).status === 0
if (!isPermitted) console.warn('skipped: no process namespace is permitted here')

const hangingWrite = 'void (await open(pipe, "r+")).write(Buffer.alloc(2 ** 20))' // more than a pipe takes

test('a write that has begun is not cut short', async () => {
  const script = `
    const written = await open(pipe + '.whole', 'w')
    written.write(Buffer.alloc(2 ** 20)).then(({ bytesWritten }) => console.log(bytesWritten === 2 ** 20))`

  expect(await run(script)).toEqual({ code: 3, signal: null, out: 'true\nlisteners ran\n' })
})

test('where no Node can replace the process, it waits for the pool', async () => {
  const script = `
    import { spawn } from 'node:child_process'
    Object.defineProperty(process, 'execPath', { value: pipe + '.gone' })
    const held = await open(pipe, 'r+')
    void held.write(Buffer.alloc(2 ** 16 + 1))
    process.on('exit', () => spawn('sh', ['-c', 'cat < "$0" > /dev/null', pipe], { detached: true }))`

  expect(await run(script)).toEqual({ code: 3, signal: null, out: 'listeners ran\n' })
})

test('a call to the disk that hangs does not keep the process', async () => {
  expect(await run(hangingWrite)).toMatchObject({ code: 3, signal: null })
})

test.skipIf(!isPermitted)('a call to the disk that hangs does not keep the first process of a container', async () => {
  expect(await run(hangingWrite, asFirstProcess)).toMatchObject({ code: 3, signal: null })
})
