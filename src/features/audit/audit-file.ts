import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorMessage } from '../../core/lib/try.ts'
import type { AuditOutput, FileSystemSize, OpenedAuditOutput } from './audit-output.ts'
import { type AuditKey, genesis } from './chain/chain.ts'
import { readTail } from './chain/chain-tail.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK, O_RDWR } = constants
const newline = Buffer.from('\n')

/**
 * Opens the file that lines are appended to, and finds the end of its chain. A new file continues the chain of the file
 * that was rotated last. Throws with what is wrong with the file.
 */
export const openAuditFile = async (
  path: string,
  key: AuditKey,
  rotateBytes: number | null,
): Promise<OpenedAuditOutput> => {
  const handle = await openRegularFile(path, O_APPEND | O_CREAT | O_RDWR)
  try {
    const real = await realpath(path)
    const { size, link, torn, isEnded } = await findEnd(real, handle, key)
    return { output: new AuditFile({ name: path, real }, handle, size, rotateBytes, isEnded), link, torn }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Finds the end of the chain: in this file, or, where it has no line yet, in the rotated file beside it. */
const findEnd = async (path: string, handle: FileHandle, key: AuditKey) => {
  const { size } = await handle.stat()
  const own = size === 0 ? null : await readTail(handle, size, key)
  const before = own?.link == null ? await readLastRotated(path, key) : null
  return {
    size,
    link: own?.link ?? before?.link ?? genesis(),
    torn: joinTorn(before?.torn ?? null, own?.torn ?? null),
    isEnded: own?.isEnded ?? true,
  }
}

/** Joins what the rotated file ends in with what this one holds, as a writer that goes from one to the other does. */
const joinTorn = (before: Buffer | null, own: Buffer | null): Buffer | null =>
  before === null || own === null ? (own ?? before) : Buffer.concat([before, newline, own])

interface FileLocation {
  /** As the configuration has it, perhaps a symbolic link. */
  readonly name: string
  /** Without links: rotated files stay beside it, on the disk that was made for them. */
  readonly real: string
}

/** A file that lines are appended to, by one process at a time. */
class AuditFile implements AuditOutput {
  name: string
  readonly #real: string
  readonly #handle: FileHandle
  rotateBytes: number | null
  #size: number
  isUnlinked = false
  /** Whether the file ends in a line feed. */
  #isEnded: boolean

  constructor(
    { name, real }: FileLocation,
    handle: FileHandle,
    size: number,
    rotateBytes: number | null,
    isEnded = true,
  ) {
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

  isAt(path: string): Promise<boolean> {
    return realpath(path).then(
      (real) => real === this.#real,
      () => false,
    )
  }

  async append(bytes: Buffer): Promise<number> {
    const { size, nlink } = await this.#handle.stat()
    this.isUnlinked = nlink === 0
    if (this.isUnlinked) throw new Error('it was removed')
    // A second writer breaks the chain, and truncation has broken it.
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

  async measureDisk(): Promise<FileSystemSize | null> {
    const { frsize, blocks, bavail } = await statfs(this.#real)
    // A file system without a size, such as a tmpfs without one, has no blocks.
    return blocks === 0 ? null : { freeBytes: bavail * frsize, sizeBytes: blocks * frsize }
  }

  async openNext(lastNumber: number): Promise<AuditOutput | null> {
    if (await this.#wasMoved()) return this.#openEmpty(this.name, O_APPEND | O_CREAT | O_RDWR)
    if (!this.isFull) return null
    const rotated = rotatedName(this.#real, lastNumber)
    await rename(this.#real, rotated)
    try {
      return await this.#openEmpty(this.#real, O_APPEND | O_CREAT | O_EXCL | O_RDWR)
    } catch (error) {
      await rename(rotated, this.#real)
      throw error
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Checks whether the name stands for another file by now, or for none: this one was moved away. */
  async #wasMoved(): Promise<boolean> {
    const [own, there] = await Promise.all([this.#handle.stat(), stat(this.name).catch(ignoreMissing)])
    return there === null || there.ino !== own.ino || there.dev !== own.dev
  }

  async #openEmpty(path: string, flags: number): Promise<AuditOutput> {
    const handle = await openRegularFile(path, flags)
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

const openRegularFile = async (path: string, flags: number): Promise<FileHandle> => {
  const handle = await open(path, flags | O_NONBLOCK, 0o600)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error('it is not a regular file')
}

const ignoreMissing = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Names a rotated file after its last line, so that sorting by name is sorting by time. */
const rotatedName = (path: string, lastNumber: number): string => `${path}.${String(lastNumber).padStart(digits, '0')}`
const digits = 12

/** Finds the end of the chain in the file that was rotated last; null: there is none. */
const readLastRotated = async (path: string, key: AuditKey) => {
  const isRotated = new RegExp(`^\\.\\d{${digits}}$`)
  const own = basename(path)
  const names = (await readdir(dirname(path))).filter(
    (name) => name.startsWith(own) && isRotated.test(name.slice(own.length)),
  )
  const last = names.sort().at(-1)
  if (last === undefined) return null
  const handle = await openRegularFile(join(dirname(path), last), constants.O_RDONLY)
  try {
    return await readTail(handle, (await handle.stat()).size, key)
  } catch (error) {
    throw new Error(`${last}: ${errorMessage(error)}`)
  } finally {
    await handle.close()
  }
}
