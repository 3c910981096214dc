import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runCommandLine } from '../../../src/core/cli/run-command-line.ts'
import { folderWith, sandbox } from '../../core/config/helper.ts'

/** Runs the command; returns its output, and what it rejects. */
const run = async (...args: readonly string[]) => {
  const [stdout, stderr] = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')]
  onTestFinished(() => void vi.restoreAllMocks())
  const [out, err]: [string[], string[]] = [[], []]
  stdout.mockImplementation((text) => out.push(String(text)) > 0)
  stderr.mockImplementation((text) => err.push(String(text)) > 0)
  process.exitCode = 0

  await runCommandLine(['httproute', ...args])

  const code = process.exitCode
  process.exitCode = 0
  vi.restoreAllMocks()
  return { code, out: out.join(''), err: err.join('') }
}

test('the paths stand below listen.basePath of the file', async () => {
  const file = join(folderWith({ 'gateway.yaml': `listen: { basePath: /lender/v1 }\n${sandbox}` }), 'gateway.yaml')

  const { code, out } = await run('--parent', 'public', '--config', file)

  expect(code).toBe(0)
  expect(out.match(/value: \/lender\/v1\//g)).toHaveLength(9)
})

test('without --parent there is no route', async () => {
  expect(await run()).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--parent') })
})

test.each([
  ['--parent', 'Public'],
  ['--parent', 'a/b/c/d'],
  ['--parent', 'edge/'],
  ['--host', 'https://lender.example.com'],
  ['--host', 'lender.example.com:443'],
  ['--host', '192.0.2.1'],
  ['--host', 'a.*.example'],
  ['--name', 'a_b'],
  ['--name', `${'a'.repeat(60)}.bcd`],
  ['--namespace', `${'a'.repeat(64)}`],
  ['--namespace', 'a.b'],
  ['--service', 'lender-gateway'],
  ['--service', 'lender-gateway:0'],
  ['--service', 'lender-gateway:65536'],
])('%s %s is wrong usage, and says what is expected', async (option, value) => {
  const { code, out, err } = await run('--parent', 'public', option, value)

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/ (is|are) expected/)
})

test('a broken file exits with 1, one that cannot be read with 2', async () => {
  const file = join(folderWith({ 'broken.yaml': `lisen: {}\n${sandbox}` }), 'broken.yaml')

  const broken = await run('--parent', 'public', '--config', file)
  const missing = await run('--parent', 'public', '--config', 'missing.yaml')

  expect(broken).toMatchObject({ code: 1, out: '', err: expect.stringContaining('lisen: unknown key') })
  expect(missing).toMatchObject({ code: 2, out: '' })
})
