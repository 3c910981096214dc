import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { cliError } from './client/admin-target.ts'

interface OutputFileOptions {
  /** Whether a file of this name is replaced. A link is replaced too, and not the file that it leads to. */
  readonly force: boolean
  /** The mode of the new file, less the umask. */
  readonly mode: number
}

/** Writes a file whole, or leaves everything as it is. Throws {@link cliError} when it is there, or for the disk. */
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

/** Returns whether a folder takes no file of this user's, as in a container whose root is read-only. */
const isForbidden = (code: string | undefined): boolean => code === 'EROFS' || code === 'EACCES' || code === 'EPERM'

/** Writes a new file. It does not follow a link that an attacker has put in its place. */
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
  // Not every file system has hard links, and rename replaces: an empty file takes the name first.
  await createFile(to, '', 0o600)
  await rename(from, to).catch(async (error) => {
    await unlink(to)
    throw error
  })
}
