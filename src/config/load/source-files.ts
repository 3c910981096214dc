import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isReadError, readFileWithLimit } from './read-file.ts'

/** Is a file that a configuration was read from: its own, or one that it refers to. */
export interface SourceFile {
  /** The absolute path. */
  readonly file: string
  /** The SHA-256 of what it held, in hex; null: it could not be read. */
  readonly digest: string | null
  /** Most bytes that were read of it. */
  readonly limit: number
}

/** Most bytes of a configuration file. */
export const maxConfigBytes = 1024 ** 2

/** Notes what was read of a file; null: nothing could be. */
export const toSourceFile = (file: string, bytes: Uint8Array | null, limit: number): SourceFile => ({
  file: resolve(file),
  digest: bytes === null ? null : createHash('sha256').update(bytes).digest('hex'),
  limit,
})

/** Notes what a file holds now. */
export const readSourceFile = (file: string, limit: number): SourceFile => {
  const read = readFileWithLimit(file, limit)
  return toSourceFile(file, isReadError(read) ? null : read, limit)
}

/**
 * Reads what tells one state of the files from another without their contents. What a link leads to counts, not the
 * link: Kubernetes changes a mounted ConfigMap by renaming one on the way. One file at a time, in the background: one
 * that hangs holds one thread of Node's pool.
 */
export const readStatStamp = async (sources: readonly SourceFile[]): Promise<string> => {
  let stamp = ''
  for (const { file } of sources) stamp += `${await readFileStamp(file)}\n`
  return stamp
}

/** The name stands in it too: the files may be others than before. */
const readFileStamp = (file: string): Promise<string> =>
  stat(file, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }) => `${file} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    () => `${file} is not there`,
  )

/**
 * Tells whether one of the files holds something else now. Not in the thread that serves: a network file system that hangs would end
 * everything with it. Then this never resolves.
 */
export const haveFilesChanged = async (sources: readonly SourceFile[]): Promise<boolean> => {
  for (const { file, digest, limit } of sources) if ((await digestFile(file, limit)) !== digest) return true
  return false
}

/** Does in the background what {@link readSourceFile} does at once. */
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
