/** A command whose reader has gone, as in `… | head -1`. */
import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { gatherText } from '../../helpers/gather-text.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const start = (words: string, stdio: StdioOptions = 'pipe') =>
  spawn(process.execPath, ['src/lender-gateway.js', ...words.split(' ')], { cwd: root, stdio })

test.each([
  ['stdout', '--version', 0, ''],
  ['stdout', 'status --ready --format json --admin http://127.0.0.1:1', 1, 'lender-gateway: nothing listens at '],
  ['stderr', 'serve --nothing', 2, ''],
] as const)(
  'when the reader of its %s has gone, %s ends quietly with its own exit code: %i',
  async (which, words, code, said) => {
    const child = start(words)
    child[which]?.destroy() // before it can write a byte
    const other = gatherText(child[which === 'stdout' ? 'stderr' : 'stdout'])

    expect(await once(child, 'close')).toEqual([code, null])
    expect(other()).toMatch(new RegExp(said === '' ? '^$' : `^${said}.*\\n$`))
  },
)

test('a command whose output cannot be written ends with 2 and one line', async () => {
  const full = openSync('/dev/full', 'w')
  const child = start('--version', ['ignore', full, 'pipe'])
  closeSync(full)
  const errors = gatherText(child.stderr)

  expect(await once(child, 'close')).toEqual([2, null])
  expect(errors()).toBe('lender-gateway: the output cannot be written (ENOSPC)\n')
})
