import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorMessage } from '../../core/lib/try.ts'
import { type AuditKey, type ChainPosition, genesis, joinPieces, readTail } from './chain/chain.ts'

/** The size of a file system, and how much of it the gateway's user may still fill. */
export interface FileSystemSize {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** A destination of lines, written one batch after another. */
export interface AuditOutput {
  /** The destination as the configuration names it. */
  name: string
  /** The size from which it is full; null: never. */
  rotateBytes: number | null
  /** Whether it is full, so that {@link openNext} is due. */
  readonly isFull: boolean
  /** Whether the file was removed: appended bytes would be lost, so none are appended, and {@link openNext} is due. */
  readonly isUnlinked: boolean
  /** Tells whether a path leads to this file, by whatever spelling or symbolic link. */
  isAt(path: string): Promise<boolean>
  /** Appends bytes, perhaps not all, and resolves with how many. Rejects when it took none. */
  append(bytes: Buffer): Promise<number>
  /** Makes the appended bytes survive a crash of the machine. */
  sync(): Promise<void>
  /** Measures the file system of the file; null: it is none, or does not tell. */
  measureDisk(): Promise<FileSystemSize | null>
  /** Opens the output of the next lines; null: this one still. The caller then closes this one. */
  openNext(lastNumber: number): Promise<AuditOutput | null>
  close(): Promise<void>
}

export interface OpenedAuditOutput {
  readonly output: AuditOutput
  readonly link: ChainPosition
  /** Bytes after its last line that form no line. */
  readonly torn: Buffer | null
}

/** The queue of the main log, which lines for standard output go through. Never waits. */
export interface StdoutQueue {
  write(line: string): void
  /** The number of lines for which it had no room. */
  dropped(): number
}

/**
 * Creates an output to standard output. Its reader keeps the lines: the gateway knows only that there was room for
 * them.
 */
export const createStdoutOutput = ({ write, dropped }: StdoutQueue): AuditOutput => ({
  name: 'stdout',
  rotateBytes: null,
  isFull: false,
  isUnlinked: false,
  async isAt() {
    return false
  },
  async append(bytes) {
    let at = 0
    while (at < bytes.length) {
      const end = bytes.indexOf(10, at) + 1
      const before = dropped()
      write(bytes.toString('utf8', at, end))
      if (dropped() > before) {
        if (at > 0) return at
        throw new Error('stdout takes no more lines')
      }
      at = end
    }
    return at
  },
  async sync() {},
  async measureDisk() {
    return null
  },
  async openNext() {
    return null
  },
  async close() {},
})

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
  const torn = [before?.torn, own?.torn].filter((piece) => piece != null)
  return {
    size,
    link: own?.link ?? before?.link ?? genesis(),
    // As a writer that goes from one to the other does.
    torn: torn.length === 0 ? null : joinPieces(torn),
    isEnded: own?.isEnded ?? true,
  }
}

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
