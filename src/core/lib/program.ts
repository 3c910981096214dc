import { accessSync, constants, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryOrNull } from './try.ts'

/** The paths of this program, to find out how to run it again. */
interface ProgramPaths {
  readonly node: string
  /** The file that Node runs. */
  readonly main: string
  /** The variable `PATH`. */
  readonly path: string
}

const currentProgram = (): ProgramPaths => ({
  node: process.execPath,
  main: fileURLToPath(new URL('../../main.ts', import.meta.url)),
  path: process.env.PATH ?? '',
})

/**
 * Returns the command that runs this program from a shell in any folder of this machine: its name, where it is
 * installed for all users, as in the image; else Node and the file by their paths. `npx` works in the checkout only: in
 * another folder it could fetch a package of that name from a registry.
 */
export const programCommand = ({ node, main, path }: ProgramPaths = currentProgram()): string => {
  // The folders that npm and npx put in front are on their own PATH, and not on that of a shell.
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !folder.includes('node_modules'))
  const found = (name: string): string | undefined =>
    folders.map((folder) => realPath(join(folder, name))).find((file) => file !== null) ?? undefined
  const isInstalled = found('lender-gateway') === realPath(main) && found('node') === realPath(node)
  return isInstalled ? 'lender-gateway' : `${shellQuote(node)} ${shellQuote(main)}`
}

/** A command of this program that an operator is told to run. */
export interface CommandLine {
  /** What stands behind the name of the program. */
  readonly words: readonly string[]
  /** How it finds the gateway: by the option `--config`, by the file among its words, or not: it asks none. */
  readonly target: 'config' | 'file' | 'none'
}

/** Creates a command that asks the gateway that `--config` leads to. */
export const commandLine = (...words: readonly string[]): CommandLine => ({ words, target: 'config' })

/** Formats a command. The program is named as it stands in documents, unless another name is given. */
export const formatCommandLine = ({ words }: CommandLine, program = 'lender-gateway'): string =>
  `${program} ${words.map(shellQuote).join(' ')}`

/** Quotes a word for a shell. */
export const shellQuote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

const realPath = (file: string): string | null => tryOrNull(() => realpathSync(file))

/** Returns the version of the gateway, from package.json. */
export const version = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { version }: { version: string } = JSON.parse(text)
  return version
}

// What Node's pool of threads does: files, and names that are looked up.
const inPool = /^(FSReq|GetAddrInfo|GetNameInfo)|CloseReq$/

/**
 * The threads of this process that read files just now. A call that hangs keeps them for ever, even one that is
 * terminated.
 */
export const readingThreads = new Set<object>()

// A quarter of a second in all: a disk that works has written by then what was begun.
const maxChecks = 25
const checkIntervalMs = 10

/**
 * Ends the process, once its threads have done what was begun. `process.exit` waits for them, and a disk or a name
 * server that hangs would keep it for ever. So after a quarter of a second a Node that does nothing but exit takes the
 * place of this one. SIGKILL would change the exit code, and the first process of a container gets none from itself.
 */
export const exitProcess = (code: number, checksLeft: number = maxChecks): void => {
  if (readingThreads.size === 0 && !isPoolBusy()) process.exit(code)
  if (checksLeft > 0) return void setTimeout(exitProcess, checkIntervalMs, code, checksLeft - 1)
  try {
    accessSync(process.execPath, constants.X_OK) // where there is none any more, execve would end in an abort
    process.execve?.(process.execPath, ['node', '-e', `process.exit(${code})`], {})
  } catch {}
  process.exit(code)
}

const isPoolBusy = (): boolean => process.getActiveResourcesInfo().some((name) => inPool.test(name))
