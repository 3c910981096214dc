import type { FileHandle } from 'node:fs/promises'
import { beginsLike, type Key, type Link, macOf, opening, type Read, readLine, saidBy } from './chain.ts'

// No line is nearly as long, and what is torn is less than a line.
const windowBytes = 256 * 1024

/** Is how a file ends that a chain goes on in. */
export interface Tail {
  /** Null: a crash tore its first line off. */
  readonly link: Link | null
  readonly torn: Buffer | null
  /** Whether the last byte ends a line: else whoever appends has to do that first. */
  readonly isEnded: boolean
}

/**
 * Finds where the chain in a file stands. What is behind its last line and is none is left of a crash. Throws when there is no line, or the
 * last was not sealed with this key: a chain cannot be gone on with by whoever could not have begun it.
 */
export const readTail = async (file: FileHandle, size: number, key: Key): Promise<Tail> => {
  const from = Math.max(0, size - windowBytes)
  const window = Buffer.alloc(size - from)
  const { bytesRead } = await file.read(window, 0, window.length, from)
  const lines = split(window.subarray(0, bytesRead))
  const last = lines.findLastIndex(({ read }) => read !== null)
  const found = lines[last]
  if (found?.read == null) {
    if (from > 0 || !lines.every(({ bytes }) => beginsLike(bytes, opening)))
      throw new Error('it holds something else than an audit log')
    return { link: null, torn: joined(lines), isEnded: lines.at(-1)?.isEnded ?? true }
  }
  check(found.read, lines[last - 1]?.read ?? null, key)
  const behind = lines.slice(last + 1)
  const isEnded = (behind.at(-1) ?? found).isEnded
  const { chain, number: count, mac } = found.read
  return { link: { chain, count, mac }, torn: behind.length === 0 ? null : joined(behind), isEnded }
}

interface Line {
  readonly bytes: Buffer
  readonly read: Read | null
  readonly isEnded: boolean
}

const newline = 10

const split = (bytes: Buffer): readonly Line[] => {
  const lines: Line[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(newline, at)
    const line = bytes.subarray(at, end === -1 ? bytes.length : end)
    lines.push({ bytes: line, read: readLine(line), isEnded: end !== -1 })
    at = end === -1 ? bytes.length : end + 1
  }
  return lines
}

const joined = (lines: readonly Line[]): Buffer =>
  Buffer.concat(lines.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [Buffer.from('\n'), bytes])))

/** Throws unless the last line can have been sealed by whoever has this key. */
const check = (last: Read, before: Read | null, key: Key): void => {
  const said = saidBy(last)
  // Its own key is over: it says which follows.
  if (said?.event === 'key' && said.next === key.id) return
  const previous = said?.previous ?? before?.mac
  if (previous !== undefined && macOf(key, previous, last.sealed) === last.mac) return
  throw new Error(
    `its last line, number ${last.number}, was not sealed with audit.key, or was edited: start with the key that it was sealed with, and change that by a reload; or move the file away`,
  )
}
