import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { folderWith, sandbox } from '../../config/helper.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const run = (
  ...args: readonly string[]
): { readonly code: number | null; readonly out: string; readonly err: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/main.ts', 'openapi', ...args], {
    cwd: root,
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}

test('openapi without a file takes config/gateway.yaml, and prints YAML', () => {
  const { code, out, err } = run()

  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(Object.keys(parse(out).paths)).toHaveLength(9)
})

test('openapi of a broken file exits with 1, and prints the problems where no document is expected', () => {
  const file = join(folderWith({ 'broken.yaml': `lisen: {}\n${sandbox}` }), 'broken.yaml')

  const { code, out, err } = run('--config', file)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain(`${file}:1:1 lisen: unknown key; did you mean "listen"?`)
})

test('openapi of a file that cannot be read exits with 2', () => {
  const { code, out } = run('--config', 'missing.yaml')

  expect({ code, out }).toEqual({ code: 2, out: '' })
})
