import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { beginning, type Key } from './chain.ts'
import { readTail } from './tail.ts'
import type { Opened, Target } from './target.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK, O_RDWR } = constants
const newline = Buffer.from('\n')

/**
 * Opens the file that lines are appended to, and finds where the chain in it stands; a new file goes on with the chain of the one that was
 * rotated last. Throws with what is wrong with it.
 */
export const openFile = async (path: string, key: Key, rotateBytes: number | null): Promise<Opened> => {
  const handle = await openIt(path, O_APPEND | O_CREAT | O_RDWR)
  try {
    const real = await realpath(path)
    const { size, link, torn, isEnded } = await findEnd(real, handle, key)
    return { target: new AuditFile({ name: path, real }, handle, size, rotateBytes, isEnded), link, torn }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Finds where the chain stands: in this file, or where it has no line yet in the one before, which lies beside it. */
const findEnd = async (path: string, handle: FileHandle, key: Key) => {
  const { size } = await handle.stat()
  const own = size === 0 ? null : await readTail(handle, size, key)
  const before = own?.link == null ? await lastRotated(path, key) : null
  return {
    size,
    link: own?.link ?? before?.link ?? beginning(),
    torn: own?.torn ?? before?.torn ?? null,
    isEnded: own?.isEnded ?? true,
  }
}

/** Says where a file is. */
interface Named {
  /** As the configuration has it, perhaps a symbolic link. */
  readonly name: string
  /** Without links: old files stay beside it, on the disk that was made for them. */
  readonly real: string
}

/** Is a file that lines are appended to, by one process at a time. */
class AuditFile implements Target {
  readonly name: string
  readonly #real: string
  readonly #handle: FileHandle
  rotateBytes: number | null
  #size: number
  isGone = false
  /** Whether the next line begins a line. */
  #isEnded: boolean

  constructor({ name, real }: Named, handle: FileHandle, size: number, rotateBytes: number | null, isEnded = true) {
    this.#isEnded = isEnded
    this.name = name
    this.#real = real
    this.#handle = handle
    this.#size = size
    this.rotateBytes = rotateBytes
  }

  get isFull(): boolean {
    return this.rotateBytes !== null && this.#size >= this.rotateBytes
  }

  async append(bytes: Buffer): Promise<number> {
    const { size, nlink } = await this.#handle.stat()
    this.isGone = nlink === 0
    if (this.isGone) throw new Error('it was removed')
    // Whoever else writes there breaks the chain, and whoever truncates it has broken it.
    if (size !== this.#size)
      throw new Error(`it has ${size} bytes where this process left ${this.#size}: who else writes to it?`)
    if (!this.#isEnded) {
      await this.#handle.write(newline, 0, 1, null)
      this.#size++
      this.#isEnded = true
    }
    const { bytesWritten } = await this.#handle.write(bytes, 0, bytes.length, null)
    this.#size += bytesWritten
    if (bytesWritten === 0) throw new Error('nothing could be written')
    return bytesWritten
  }

  sync(): Promise<void> {
    return this.#handle.datasync()
  }

  async next(lastNumber: number): Promise<Target | null> {
    if (await this.#isMoved()) return this.#fresh(this.name, O_APPEND | O_CREAT | O_RDWR)
    if (!this.isFull) return null
    const rotated = rotatedName(this.#real, lastNumber)
    await rename(this.#real, rotated)
    try {
      return await this.#fresh(this.#real, O_APPEND | O_CREAT | O_EXCL | O_RDWR)
    } catch (error) {
      await rename(rotated, this.#real)
      throw error
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Tells whether the name stands for another file by now, or for none: somebody has moved this one away. */
  async #isMoved(): Promise<boolean> {
    const [own, there] = await Promise.all([this.#handle.stat(), stat(this.name).catch(ignoreMissing)])
    return there === null || there.ino !== own.ino || there.dev !== own.dev
  }

  async #fresh(path: string, flags: number): Promise<Target> {
    const handle = await openIt(path, flags)
    try {
      const { size } = await handle.stat()
      if (size > 0) throw new Error(`${this.name} is another file by now, and not an empty one`)
      return new AuditFile({ name: this.name, real: await realpath(path) }, handle, 0, this.rotateBytes)
    } catch (error) {
      await handle.close()
      throw error
    }
  }
}

const openIt = async (path: string, flags: number): Promise<FileHandle> => {
  const handle = await open(path, flags | O_NONBLOCK, 0o600)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error('it is not a regular file')
}

const ignoreMissing = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Names a rotated file by its last line, so that a list of them by name is in order. */
const rotatedName = (path: string, lastNumber: number): string => `${path}.${String(lastNumber).padStart(digits, '0')}`
const digits = 12

/** Finds the end of the chain in the file that was rotated last; null: there is none. */
const lastRotated = async (path: string, key: Key) => {
  const isRotated = new RegExp(`^\\.\\d{${digits}}$`)
  const own = basename(path)
  const names = (await readdir(dirname(path))).filter(
    (name) => name.startsWith(own) && isRotated.test(name.slice(own.length)),
  )
  const last = names.sort().at(-1)
  if (last === undefined) return null
  const handle = await openIt(join(dirname(path), last), constants.O_RDONLY)
  try {
    return await readTail(handle, (await handle.stat()).size, key)
  } catch (error) {
    throw new Error(`${last}: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await handle.close()
  }
}
