import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** `reason` quotes nothing of the file. */
interface ReadError {
  readonly reason: string
  /** Whether the file exists and can be read, but is too large. */
  readonly readable: boolean
}

/** The most bytes of a file that a value `file:NAME` stands for. */
export const maxReferencedBytes = 64 * 1024

/** Reads a regular file of at most `limit` bytes. It follows symbolic links, and never blocks on a pipe or a device. */
export function readFileWithLimit(file: string, limit: number): Buffer | ReadError {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(descriptor)
    if (stat.isDirectory()) return { reason: 'it is a directory', readable: false }
    if (!stat.isFile()) return { reason: 'it is not a regular file', readable: false }
    // One byte more than allowed: the size of `stat` may be stale by now.
    const buffer = Buffer.alloc(limit + 1)
    let length = 0
    for (let read = -1; read !== 0 && length <= limit; length += read)
      read = readSync(descriptor, buffer, length, buffer.length - length, null)
    return length > limit ? { reason: 'it is too large', readable: true } : buffer.subarray(0, length)
  } catch (error) {
    return { reason: describeError(error), readable: false }
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

export const isReadError = (read: Buffer | ReadError): read is ReadError => !Buffer.isBuffer(read)

function describeError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'no such file',
    ENOTDIR: 'no such file',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    EISDIR: 'it is a directory',
    ELOOP: 'too many symbolic links',
    ENAMETOOLONG: 'the name is too long',
    ENXIO: 'it is not a regular file',
    ERR_INVALID_ARG_VALUE: 'the name has a NUL in it',
  }
  return known[code] ?? `it cannot be opened (${code === '' ? 'unknown reason' : code})`
}
