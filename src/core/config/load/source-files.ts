import { createHash, hash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

export interface SourceFile {
  /** The absolute path. */
  readonly file: string
  /** The SHA-256 of its contents, in hex; null: it could not be read. */
  readonly digest: string | null
  /** The largest size at which it is read, in bytes. */
  readonly limit: number
}

/** The largest size of a configuration file, in bytes. */
export const maxConfigBytes = 1024 ** 2

/** Makes the record of a file that was read. `bytes` null: it could not be. */
export const toSourceFile = (file: string, bytes: Uint8Array | null, limit: number): SourceFile => ({
  file: resolve(file),
  digest: bytes === null ? null : hash('sha256', bytes, 'hex'),
  limit,
})

/**
 * Makes the record of a file as it is now. It reads in the background: a network file system that hangs would stop the
 * serving thread. In that case this never resolves.
 */
export const readSourceFile = async (file: string, limit: number): Promise<SourceFile> => ({
  file: resolve(file),
  digest: await digestFile(file, limit),
  limit,
})

/**
 * Reads the stat data of the files, which differ after an edit. It follows links: Kubernetes changes a mounted
 * ConfigMap by renaming one on the way. One file at a time, in the background: a file that hangs holds one thread of
 * Node's pool.
 */
export const readStatStamp = async (sources: readonly SourceFile[]): Promise<string> => {
  let stamp = ''
  for (const { file } of sources) stamp += `${await readFileStamp(file)}\n`
  return stamp
}

/** Reads the stat data of one file, with its name: the files may be others than before. */
const readFileStamp = (file: string): Promise<string> =>
  stat(file, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }) => `${file} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    () => `${file} is not there`,
  )

/** Lists the files whose contents have changed. It reads in the background, as {@link readSourceFile} does. */
export const findChangedFiles = async (sources: readonly SourceFile[]): Promise<readonly string[]> => {
  const changed: string[] = []
  for (const { file, digest, limit } of sources) if ((await digestFile(file, limit)) !== digest) changed.push(file)
  return changed
}

/** Hashes a file; null: it cannot be read, or is too large. */
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
