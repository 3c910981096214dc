import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { runCommand } from '../../../../core/cli/scripted-admin.ts'
import { folderWith, sandbox } from '../../../../core/config/helper.ts'

const run = (...args: readonly string[]) => runCommand(['openapi', ...args])

test('openapi without a file takes config/gateway.yaml, and prints YAML', async () => {
  const { code, out, err } = await run()

  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(Object.keys(parse(out).paths)).toHaveLength(9)
})

test('openapi of a broken file exits with 1, and prints the problems where no document is expected', async () => {
  const file = join(folderWith({ 'broken.yaml': `lisen: {}\n${sandbox}` }), 'broken.yaml')

  const { code, out, err } = await run('--config', file)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain(`${file}:1:1 lisen: unknown key; did you mean "listen"?`)
})

test('openapi of a file that cannot be read exits with 2', async () => {
  const { code, out } = await run('--config', 'missing.yaml')

  expect({ code, out }).toEqual({ code: 2, out: '' })
})
