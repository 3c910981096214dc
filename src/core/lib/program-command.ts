import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryOrNull } from './try-or-null.ts'

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
