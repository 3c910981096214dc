import { createHash, hash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

export interface SourceFile {
  readonly file: string
  /** SHA-256 in hex; null: the file could not be read. */
  readonly digest: string | null
  readonly limit: number
}

export const maxConfigBytes = 1024 ** 2

export const toSourceFile = (file: string, bytes: Uint8Array | null, limit: number): SourceFile => ({
  file: resolve(file),
  digest: bytes === null ? null : hash('sha256', bytes, 'hex'),
  limit,
})

/** Does not block the serving thread. On a hung network file system it never resolves. */
export const readSourceFile = async (file: string, limit: number): Promise<SourceFile> => ({
  file: resolve(file),
  digest: await digestFile(file, limit),
  limit,
})

// Follows links: Kubernetes updates a mounted ConfigMap by renaming a link on the way. One file at a time: a hung file
// holds one thread of Node's pool.
export const readStatStamp = async (sources: readonly SourceFile[]): Promise<string> => {
  let stamp = ''
  for (const { file } of sources) stamp += `${await readFileStamp(file)}\n`
  return stamp
}

const readFileStamp = (file: string): Promise<string> =>
  stat(file, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }) => `${file} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    () => `${file} is not there`,
  )

export const findChangedFiles = async (sources: readonly SourceFile[]): Promise<readonly string[]> => {
  const changed: string[] = []
  for (const { file, digest, limit } of sources) if ((await digestFile(file, limit)) !== digest) changed.push(file)
  return changed
}

const digestFile = async (file: string, limit: number): Promise<string | null> => {
  try {
    await using opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!(await opened.stat()).isFile()) return null
    const hash = createHash('sha256')
    const chunk = Buffer.alloc(64 * 1024)
    for (let length = 0; ; ) {
      const { bytesRead } = await opened.read(chunk)
      if (bytesRead === 0) return hash.digest('hex')
      length += bytesRead
      if (length > limit) return null
      hash.update(chunk.subarray(0, bytesRead))
    }
  } catch {
    return null
  }
}

interface ReadError {
  readonly reason: string
  readonly readable: boolean
}

export const maxReferencedBytes = 64 * 1024

/** Follows symbolic links; never blocks on a pipe or a device. */
export function readFileWithLimit(file: string, limit: number): Buffer | ReadError {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(descriptor)
    if (stat.isDirectory()) return { reason: 'it is a directory', readable: false }
    if (!stat.isFile()) return { reason: 'it is not a regular file', readable: false }
    // The size may be stale, and is 0 for files of /proc, so the bytes read count.
    const chunk = Buffer.alloc(Math.min(Math.max(stat.size, 4095), limit) + 1)
    let bytes = Buffer.alloc(0)
    while (bytes.length <= limit) {
      const read = readSync(descriptor, chunk)
      if (read === 0) return bytes
      bytes = Buffer.concat([bytes, chunk.subarray(0, read)])
    }
    return { reason: 'it is too large', readable: true }
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    return { reason: reasons[code] ?? `it cannot be opened (${code})`, readable: false }
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

export const isReadError = (read: Buffer | ReadError): read is ReadError => !Buffer.isBuffer(read)

const reasons: Readonly<Record<string, string>> = {
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
