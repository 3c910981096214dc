import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { isUnread, readBounded } from './read.ts'

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
export const maxFileBytes = 1024 ** 2

/** Notes what was read of a file; null: nothing could be. */
export const sourceOf = (file: string, bytes: Uint8Array | null, limit: number): SourceFile => ({
  file: resolve(file),
  digest: bytes === null ? null : createHash('sha256').update(bytes).digest('hex'),
  limit,
})

/** Notes what a file holds now. */
export const sourceNow = (file: string, limit: number): SourceFile => {
  const read = readBounded(file, limit)
  return sourceOf(file, isUnread(read) ? null : read, limit)
}

/** Tells whether one of the files holds something else now. */
export const haveChanged = (sources: readonly SourceFile[]): boolean =>
  sources.some(({ file, digest, limit }) => sourceNow(file, limit).digest !== digest)
