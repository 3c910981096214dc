import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryOrNull } from './try-or-null.ts'

/** The paths of this program, to find out how to run it again. */
export interface ProgramPaths {
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

/** Tells whether a command changes what runs, unlike one that only shows more. */
export const isMutatingCommand = (command: string): boolean =>
  / (cache clear|endpoint (drain|ready)|reload|rollback|shift \S+ --(to|pause|resume|abort))( |$)/.test(command)

/** Quotes a word for a shell. */
export const shellQuote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

const realPath = (file: string): string | null => tryOrNull(() => realpathSync(file))
