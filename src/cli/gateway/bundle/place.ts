import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, rename, unlink } from 'node:fs/promises'
import { isatty } from 'node:tty'
import { unasked } from '../target.ts'

/** Is where an archive goes. */
export interface ArchivePlace {
  readonly name: string
  readonly isFile: boolean
  /** Writes all of it, or leaves nothing. Rejects as the file system does. */
  write(bytes: Uint8Array): Promise<void>
}

/** Finds where an archive goes: a file for its owner alone, or stdout (`-`). Throws {@link unasked} when that is a terminal. */
export const place = (output: string, force: boolean): ArchivePlace => {
  if (output !== '-')
    return { name: output, isFile: true, write: (bytes) => (force ? replace(output, bytes) : create(output, bytes)) }
  if (isatty(1)) throw unasked('stdout is a terminal, and an archive is not to be read there: --output FILE')
  return { name: 'stdout', isFile: false, write: toStdout }
}

/** Writes a file that was not there: a link that somebody has put in its place is not followed. */
const create = async (file: string, bytes: Uint8Array): Promise<void> => {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
  } catch (error) {
    await unlink(file)
    throw error
  } finally {
    await handle.close()
  }
}

/** Writes beside it first: what is there stays whole until there is something better, and its mode is not taken over. */
const replace = async (file: string, bytes: Uint8Array): Promise<void> => {
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  await create(beside, bytes)
  await rename(beside, file).catch(async (error) => {
    await unlink(beside)
    throw error
  })
}

const toStdout = async (bytes: Uint8Array): Promise<void> => {
  const failed = once(process.stdout, 'error').then(([error]) => {
    throw error
  })
  const written = new Promise<void>((resolve) => void process.stdout.write(bytes, () => resolve()))
  await Promise.race([failed, written])
}
