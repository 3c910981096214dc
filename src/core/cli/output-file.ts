import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { cliError } from './client/admin-target.ts'

interface OutputFileOptions {
  /** Whether an existing file is replaced. A link itself is replaced, not its target. */
  readonly force: boolean
  /** The mode of the new file, less the umask. */
  readonly mode: number
}

/** Writes a whole file or changes nothing. Throws {@link cliError} if the file exists or cannot be written. */
export const writeOutputFile = async (
  file: string,
  content: string | Uint8Array,
  { force, mode }: OutputFileOptions,
): Promise<void> => {
  try {
    const temporaryFile = `${file}.${randomBytes(6).toString('hex')}`
    await createFile(temporaryFile, content, mode)
    await moveFile(temporaryFile, file, force).catch(async (error) => {
      await unlink(temporaryFile)
      throw error
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const hint = isForbidden(code) ? ': --output - writes it to stdout' : ''
    throw cliError(
      code === 'EEXIST'
        ? `${file} is there already: --force overwrites it`
        : `${file} cannot be written (${code ?? message})${hint}`,
    )
  }
}

/** As in a container with a read-only root. */
const isForbidden = (code: string | undefined): boolean => code === 'EROFS' || code === 'EACCES' || code === 'EPERM'

/** `wx` follows no link that an attacker has put in its place. */
const createFile = async (file: string, content: string | Uint8Array, mode: number): Promise<void> => {
  const handle = await open(file, 'wx', mode)
  try {
    await handle.writeFile(content)
  } catch (error) {
    await unlink(file)
    throw error
  } finally {
    await handle.close()
  }
}

const moveFile = async (from: string, to: string, force: boolean): Promise<void> => {
  if (force) return rename(from, to)
  // Not every file system has hard links, and rename replaces: an empty file reserves the name.
  await createFile(to, '', 0o600)
  await rename(from, to).catch(async (error) => {
    await unlink(to)
    throw error
  })
}
