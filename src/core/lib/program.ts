import { accessSync, constants, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryOrNull } from './try.ts'

const currentProgram = () => ({
  node: process.execPath,
  main: fileURLToPath(new URL('../../lender-gateway.js', import.meta.url)),
  path: process.env.PATH ?? '',
})

/**
 * The command's name if it is installed for all users, as in the image; else Node and the file. Elsewhere than in the
 * checkout, `npx` could fetch a package of that name from a registry.
 */
export const programCommand = ({ node, main, path } = currentProgram()): string => {
  // npm and npx put folders in front of their own PATH, which a shell does not have.
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !folder.includes('node_modules'))
  const found = (name: string): string | undefined =>
    folders.map((folder) => realPath(join(folder, name))).find((file) => file !== null) ?? undefined
  const isInstalled = found('lender-gateway') === realPath(main) && found('node') === realPath(node)
  return isInstalled ? 'lender-gateway' : `${shellQuote(node)} ${shellQuote(main)}`
}

export interface CommandLine {
  readonly words: readonly string[]
  /** How the command finds the gateway: by `--config`, by the file among its words, or not at all. */
  readonly target: 'config' | 'file' | 'none'
}

export const commandLine = (...words: readonly string[]): CommandLine => ({ words, target: 'config' })

export const formatCommandLine = ({ words }: CommandLine, program = 'lender-gateway'): string =>
  `${program} ${words.map(shellQuote).join(' ')}`

export const shellQuote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

const realPath = (file: string): string | null => tryOrNull(() => realpathSync(file))

export const version = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { version }: { version: string } = JSON.parse(text)
  return version
}

// The pool works on files and name lookups.
const inPool = /^(FSReq|GetAddrInfo|GetNameInfo)|CloseReq$/

/** A hanging call keeps its thread for ever, even a terminated one. */
export const readingThreads = new Set<object>()

// 0.25 s in all: by then a working disk has finished its writes.
const maxChecks = 25
const checkIntervalMs = 10

/**
 * `process.exit` waits for threads, for ever if a disk or a name server hangs. So after 0.25 s a Node that only exits
 * takes the place of this process. SIGKILL would change the exit code, and a container's first process cannot send it
 * to itself.
 */
export const exitProcess = (code: number, checksLeft: number = maxChecks): void => {
  if (readingThreads.size === 0 && !isPoolBusy()) process.exit(code)
  if (checksLeft > 0) return void setTimeout(exitProcess, checkIntervalMs, code, checksLeft - 1)
  try {
    accessSync(process.execPath, constants.X_OK) // execve of a missing file would abort
    process.execve?.(process.execPath, ['node', '-e', `process.exit(${code})`], {})
  } catch {}
  process.exit(code)
}

const isPoolBusy = (): boolean => process.getActiveResourcesInfo().some((name) => inPool.test(name))
