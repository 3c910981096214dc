/** A command whose reader has gone, as in `… | head -1`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Runs a command and closes its output before it can write a byte. */
const unread = async (args: readonly string[], which: 'stdout' | 'stderr') => {
  const child = spawn(process.execPath, ['src/main.ts', ...args], { cwd: root })
  child[which].destroy()
  let other = ''
  child[which === 'stdout' ? 'stderr' : 'stdout'].setEncoding('utf8').on('data', (text: string) => {
    other += text
  })
  const [code] = await once(child, 'close')
  return { code, other }
}

test.each([
  ['--version', 0],
  ['status --ready --format json --admin http://127.0.0.1:1', 1],
])('%s ends quietly when its reader has gone, with its own exit code: %i', async (command, code) => {
  const quietly = code === 0 ? '' : expect.stringMatching(/^lender-gateway: nothing listens at .*\n$/)
  expect(await unread(command.split(' '), 'stdout')).toEqual({ code, other: quietly })
})

test('an error may go unread as well', async () => {
  expect(await unread(['serve', '--nothing'], 'stderr')).toEqual({ code: 2, other: '' })
})

test('a command whose output cannot be written ends with 2 and one line', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['src/main.ts', '--version'], { cwd: root, stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  let err = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })

  const [code] = await once(child, 'close')

  expect({ code, err }).toEqual({ code: 2, err: 'lender-gateway: the output cannot be written (ENOSPC)\n' })
})
