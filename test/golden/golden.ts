import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import { fullCommandLine } from '../helpers/command-line.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** The configuration files of the commands, which run in this folder, so that no path of a machine is printed. */
export const configFolder = join(folder, 'files')

/** Runs a command in this process, as the command line does; returns its output and its exit code. */
export const runInProcess = async (
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string }> => {
  const before = { cwd: process.cwd(), exitCode: process.exitCode }
  const stdout = vi.spyOn(process.stdout, 'write')
  const restore = (): void => {
    stdout.mockRestore()
    process.chdir(before.cwd)
    process.exitCode = before.exitCode
  }
  onTestFinished(restore)
  let out = ''
  stdout.mockImplementation((text) => {
    out += String(text)
    return true
  })
  process.exitCode = 0
  process.chdir(configFolder)

  await fullCommandLine().parseAsync(args, { from: 'user' })

  const code = Number(process.exitCode ?? 0)
  restore()
  return { code, out }
}

/** Renders a run as an operator sees it: the command, its output, its exit code. */
export const transcript = (
  args: readonly string[],
  { code, out }: { readonly code: number; readonly out: string },
): string => `$ lender-gateway ${args.map(quoted).join(' ')}\n${out}exit code ${code}\n`

/**
 * Compares a text with the file of this name in this folder, which UPDATE_GOLDEN=1 rewrites. The hash of a
 * configuration is left out: it changes with every new key.
 */
export const expectGolden = (name: string, text: string): void => {
  const file = join(folder, name)
  const got = text.replaceAll(/(hash"?:? "?)[0-9a-f]{12}\b/g, '$1············')
  if (process.env.UPDATE_GOLDEN === '1') return writeFileSync(file, got)
  expect(existsSync(file), `${name} is missing: UPDATE_GOLDEN=1 vitest run test/whole/cli/golden writes it`).toBe(true)
  expect(got, `${name} differs: when that is meant, UPDATE_GOLDEN=1 vitest run test/whole/cli/golden rewrites it`).toBe(
    readFileSync(file, 'utf8'),
  )
}

const quoted = (word: string): string => {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  return /[\0-\x1f]/.test(word) ? `$'${JSON.stringify(word).slice(1, -1)}'` : `'${word}'`
}
