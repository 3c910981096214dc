import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith, sandbox } from '../../config/helper.ts'
import { runCommand } from '../scripted-admin.ts'

const run = (...args: readonly string[]) => runCommand(args)

test('check of a valid file exits with 0', async () => {
  const { code, out, err } = await run('check', 'config/gateway.yaml')

  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^config\/gateway\.yaml: good \(hash [0-9a-f]{12}\)\n$/)
})

test('check without a file takes config/gateway.yaml', async () => {
  expect((await run('check')).out).toContain('config/gateway.yaml: good')
})

test('check takes its file by --config too, and not twice', async () => {
  const file = join(folderWith({ 'mine.yaml': sandbox }), 'mine.yaml')

  const one = await run('check', '--config', file)
  const both = await run('check', file, '--config', 'config/gateway.yaml')

  expect(one).toMatchObject({ code: 0, err: '', out: expect.stringContaining(`${file}: good`) })
  const err = 'lender-gateway: FILE and --config are the same: give one\n'
  expect(both).toEqual({ code: 2, out: '', err })
})

test('check of a broken file exits with 1 and prints every problem, as text and as JSON', async () => {
  const file = join(folderWith({ 'broken.yaml': `lisen: {}\nadmin: { port: "1" }\n${sandbox}` }), 'broken.yaml')

  const [text, json] = [await run('check', file), await run('check', file, '--format', 'json')]

  expect([text.code, json.code]).toEqual([1, 1])
  expect(text.out).toContain(`${file}:1:1 lisen: unknown key; did you mean "listen"?`)
  expect(text.out).toContain(`${file}:2:16 admin.port: a number in quotes`)
  expect(text.out).toMatch(/\n2 problems\n$/)
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, file, hash: null, warnings: [] })
  expect(JSON.parse(json.out).problems[0]).toEqual({
    ...{ file, line: 1, column: 1, path: 'lisen', message: 'unknown key; did you mean "listen"?' },
    ...{ expected: expect.stringContaining('listen'), found: 'lisen' },
  })
})

test('check of a file that cannot be read exits with 2', async () => {
  expect(await run('check', join(folderWith({}), 'none.yaml'))).toMatchObject({ code: 2 })
  expect(await run('check', folderWith({}))).toMatchObject({ code: 2 })
})

test.each([['chekc'], ['check', '--format', 'xml'], ['check', 'a', 'b'], ['check', '--nope'], ['serve', 'a']])(
  'wrong usage exits with 2 and one line on stderr: %s',
  async (...args) => {
    const { code, out, err } = await run(...args)

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^lender-gateway: .+\n/)
  },
)

test('serve with a broken file exits with 1, and the problems are on stderr', async () => {
  const file = join(folderWith({ 'broken.yaml': 'version: 1' }), 'broken.yaml')

  const { code, out, err } = await run('serve', '--config', file)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain(`${file}:1:1 upstreams: missing`)
})

test.each(['check', 'schema', 'serve'])('%s --help shows an example', async (command) => {
  const { code, out } = await run(command, '--help')

  expect(code).toBe(0)
  expect(out).toContain(`Example:\n  lender-gateway ${command}`)
})

test('--version prints the version, and schema the JSON Schema', async () => {
  expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(JSON.parse((await run('schema')).out)).toMatchObject({ title: 'Lender gateway configuration' })
})
