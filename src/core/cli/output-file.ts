import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { cliError } from './client/admin-target.ts'

/**
 * Writes a whole file or changes nothing. Throws {@link cliError} if the file exists or cannot be written. `force`
 * replaces a file, and of a link the link itself. `mode`: less the umask.
 */
export const writeOutputFile = async (
  file: string,
  content: string | Uint8Array,
  { force, mode }: { readonly force: boolean; readonly mode: number },
): Promise<void> => {
  try {
    const temporaryFile = `${file}.${randomBytes(6).toString('hex')}`
    await createFile(temporaryFile, content, mode)
    await moveFile(temporaryFile, file, force).catch(async (error) => {
      await unlink(temporaryFile)
      throw error
    })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw cliError(`${file} exists: --force overwrites it`)
    const hint = ['EROFS', 'EACCES', 'EPERM'].includes(code) ? ': --output - writes it to stdout' : ''
    throw cliError(`${file} cannot be written (${code === '' ? message : code})${hint}`)
  }
}

/** `wx` follows no link of an attacker. */
const createFile = async (file: string, content: string | Uint8Array, mode: number): Promise<void> => {
  await using handle = await open(file, 'wx', mode)
  await handle.writeFile(content).catch(async (error) => {
    await unlink(file)
    throw error
  })
}

const moveFile = async (from: string, to: string, force: boolean): Promise<void> => {
  if (force) return rename(from, to)
  // Not every file system has hard links. An empty file reserves the name, since rename replaces files.
  await createFile(to, '', 0o600)
  await rename(from, to).catch(async (error) => {
    await unlink(to)
    throw error
  })
}
