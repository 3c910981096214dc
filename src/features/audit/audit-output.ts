import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorMessage } from '../../core/lib/try.ts'
import { type AuditKey, type ChainPosition, genesis, joinPieces, readTail } from './chain/chain.ts'

export interface FileSystemSize {
  readonly freeBytes: number
  readonly sizeBytes: number
}

export interface AuditOutput {
  /** As configured; may be a symbolic link. */
  name: string
  rotateBytes: number | null
  readonly isFull: boolean
  /** The file was deleted: {@link openNext} is due, since appended lines would be lost. */
  readonly isUnlinked: boolean
  isAt(path: string): Promise<boolean>
  /** Resolves with the number of appended bytes, perhaps fewer. Rejects if none were. */
  append(bytes: Buffer): Promise<number>
  sync(): Promise<void>
  /** Null: not a file, or a file system without a size. */
  measureDisk(): Promise<FileSystemSize | null>
  /** Null: this output continues. The caller closes a replaced output. */
  openNext(lastNumber: number): Promise<AuditOutput | null>
  close(): Promise<void>
}

export interface OpenedAuditOutput {
  readonly output: AuditOutput
  readonly link: ChainPosition
  /** Bytes after the last line. */
  readonly torn: Buffer | null
}

/** The main log's queue. */
export interface StdoutQueue {
  write(line: string): void
  dropped(): number
}

/** Not handled: a reader of stdout that loses lines. */
export const createStdoutOutput = ({ write, dropped }: StdoutQueue): AuditOutput => ({
  name: 'stdout',
  rotateBytes: null,
  isFull: false,
  isUnlinked: false,
  isAt: async () => false,
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
  sync: async () => {},
  measureDisk: async () => null,
  openNext: async () => null,
  close: async () => {},
})

const { O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK, O_RDWR } = constants
const newline = Buffer.from('\n')

/** Finds the end of the chain; an empty file continues the last rotated one. Throws if the file cannot be used. */
export const openAuditFile = async (name: string, key: AuditKey, rotateBytes: number | null) => {
  const handle = await openRegularFile(name, O_APPEND | O_CREAT | O_RDWR)
  return closeOnError(handle, async (): Promise<OpenedAuditOutput> => {
    const real = await realpath(name)
    const { size, link, torn, isEnded } = await findEnd(real, handle, key)
    return { output: auditFile({ name, real, handle, size, rotateBytes, isEnded }), link, torn }
  })
}

const closeOnError = async <T>(handle: FileHandle, use: () => Promise<T>): Promise<T> => {
  try {
    return await use()
  } catch (error) {
    await handle.close()
    throw error
  }
}

const findEnd = async (path: string, handle: FileHandle, key: AuditKey) => {
  const { size } = await handle.stat()
  const own = size === 0 ? null : await readTail(handle, size, key)
  const before = own?.link == null ? await readLastRotated(path, key) : null
  const torn = [before?.torn, own?.torn].filter((piece) => piece != null)
  return {
    size,
    link: own?.link ?? before?.link ?? genesis(),
    torn: torn.length === 0 ? null : joinPieces(torn),
    isEnded: own?.isEnded ?? true,
  }
}

interface OpenedFile extends Pick<AuditOutput, 'name' | 'rotateBytes'> {
  /** Without symbolic links: rotated files stay on the same disk. */
  readonly real: string
  readonly handle: FileHandle
  readonly size: number
  readonly isEnded: boolean
}

const auditFile = ({ name, real, handle, rotateBytes, ...opened }: OpenedFile): AuditOutput => {
  let { size: written, isEnded } = opened

  const openEmpty = async (path: string, flags: number): Promise<AuditOutput> => {
    const next = await openRegularFile(path, flags)
    return closeOnError(next, async () => {
      const { size } = await next.stat()
      if (size > 0) throw new Error(`${output.name} is another file by now, and not an empty one`)
      const real = await realpath(path)
      return auditFile({ name: output.name, real, handle: next, size, rotateBytes: output.rotateBytes, isEnded: true })
    })
  }

  const output: AuditOutput & { isUnlinked: boolean } = {
    name,
    rotateBytes,
    isUnlinked: false,
    get isFull() {
      return output.rotateBytes !== null && written >= output.rotateBytes
    },
    isAt: async (path) => (await realpath(path).catch(() => null)) === real,
    async append(bytes) {
      const { size, nlink } = await handle.stat()
      output.isUnlinked = nlink === 0
      if (output.isUnlinked) throw new Error('it was removed')
      // A second writer or a truncation would break the chain.
      if (size !== written)
        throw new Error(`it has ${size} bytes where this process left ${written}: who else writes to it?`)
      if (!isEnded) {
        await handle.write(newline, 0, 1, null)
        written++
        isEnded = true
      }
      const { bytesWritten } = await handle.write(bytes, 0, bytes.length, null)
      written += bytesWritten
      if (bytesWritten === 0) throw new Error('nothing could be written')
      return bytesWritten
    },
    sync: () => handle.datasync(),
    async measureDisk() {
      const { frsize, blocks, bavail } = await statfs(real)
      // A tmpfs without a size has no blocks.
      return blocks === 0 ? null : { freeBytes: bavail * frsize, sizeBytes: blocks * frsize }
    },
    async openNext(lastNumber) {
      const [own, there] = await Promise.all([handle.stat(), stat(output.name).catch(ignoreMissing)])
      if (there === null || there.ino !== own.ino || there.dev !== own.dev)
        return openEmpty(output.name, O_APPEND | O_CREAT | O_RDWR)
      if (!output.isFull) return null
      const rotated = rotatedName(real, lastNumber)
      await rename(real, rotated)
      try {
        return await openEmpty(real, O_APPEND | O_CREAT | O_EXCL | O_RDWR)
      } catch (error) {
        await rename(rotated, real)
        throw error
      }
    },
    close: () => handle.close(),
  }
  return output
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

/** The last line's number, so that names sort by time. */
const rotatedName = (path: string, lastNumber: number): string => `${path}.${String(lastNumber).padStart(12, '0')}`
const rotatedSuffix = /^\.\d{12}$/

const readLastRotated = async (path: string, key: AuditKey) => {
  const own = basename(path)
  const isRotated = (name: string): boolean => name.startsWith(own) && rotatedSuffix.test(name.slice(own.length))
  const last = (await readdir(dirname(path))).filter(isRotated).sort().at(-1)
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
