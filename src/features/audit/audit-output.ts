import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorMessage } from '../../core/lib/try.ts'
import { type AuditKey, type ChainPosition, genesis, joinPieces, readTail } from './chain/chain.ts'

/** `freeBytes`: for the gateway's user. */
export interface FileSystemSize {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Appends are sequential. */
export interface AuditOutput {
  /** As configured. */
  name: string
  /** Null: no rotation. */
  rotateBytes: number | null
  /** {@link openNext} is due. */
  readonly isFull: boolean
  /** Deleted: nothing is appended, as it would be lost, and {@link openNext} is due. */
  readonly isUnlinked: boolean
  /** By any spelling or symbolic link. */
  isAt(path: string): Promise<boolean>
  /** Resolves with the appended bytes, perhaps not all. Rejects if none. */
  append(bytes: Buffer): Promise<number>
  /** So that appended bytes survive a crash of the machine. */
  sync(): Promise<void>
  /** Null: not a file, or no size. */
  measureDisk(): Promise<FileSystemSize | null>
  /** Null: this output continues. Otherwise the caller closes it. */
  openNext(lastNumber: number): Promise<AuditOutput | null>
  close(): Promise<void>
}

export interface OpenedAuditOutput {
  readonly output: AuditOutput
  readonly link: ChainPosition
  /** After the last line, without forming one. */
  readonly torn: Buffer | null
}

/** The queue of the main log. Never waits. */
export interface StdoutQueue {
  write(line: string): void
  /** The number of dropped lines. */
  dropped(): number
}

/** Whether the reader stores the lines is not known. */
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

/** Finds the end of the chain; a new file continues the last rotated one's. Throws if unusable. */
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

/** In the last rotated file while this one has no line. */
const findEnd = async (path: string, handle: FileHandle, key: AuditKey) => {
  const { size } = await handle.stat()
  const own = size === 0 ? null : await readTail(handle, size, key)
  const before = own?.link == null ? await readLastRotated(path, key) : null
  const torn = [before?.torn, own?.torn].filter((piece) => piece != null)
  return {
    size,
    link: own?.link ?? before?.link ?? genesis(),
    // As a writer that switches files joins them.
    torn: torn.length === 0 ? null : joinPieces(torn),
    isEnded: own?.isEnded ?? true,
  }
}

interface FileLocation {
  /** As configured, perhaps a symbolic link. */
  readonly name: string
  /** Resolved: rotated files stay on the disk that was made for them. */
  readonly real: string
}

/** For one process at a time. */
class AuditFile implements AuditOutput {
  name: string
  readonly #real: string
  readonly #handle: FileHandle
  rotateBytes: number | null
  #size: number
  isUnlinked = false
  /** Whether the file ends with a line feed. */
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
    // A second writer or a truncation breaks the chain.
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
    // A tmpfs without a size has no blocks.
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

  /** The name now leads to another file, or to none. */
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

/** Named after its last line, so that names sort by time. */
const rotatedName = (path: string, lastNumber: number): string => `${path}.${String(lastNumber).padStart(digits, '0')}`
const digits = 12

/** Null: no rotated file. */
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
