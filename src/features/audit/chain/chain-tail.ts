import type { FileHandle } from 'node:fs/promises'
import {
  type AuditKey,
  computeMac,
  couldStartWith,
  linePrefix,
  type ParsedAuditLine,
  parseAuditLine,
  parseChainFields,
} from './chain.ts'

// No line is nearly as long, and a torn line is shorter than a line.
const windowBytes = 256 * 1024

/**
 * Finds the end of the chain in a file. Bytes after the last line that form no line were left by a crash. Throws when
 * the file holds no line, or when its last line was not sealed with this key: a chain is continued only with the key
 * that could have begun it. `link` null: a crash tore off the first line. `isEnded`: the last byte is a line feed;
 * otherwise the next append has to write one first.
 */
export const readTail = async (file: FileHandle, size: number, key: AuditKey) => {
  const from = Math.max(0, size - windowBytes)
  const window = Buffer.alloc(size - from)
  const { bytesRead } = await file.read(window, 0, window.length, from)
  const lines = splitLines(window.subarray(0, bytesRead))
  const last = lines.findLastIndex(({ read }) => read !== null)
  const found = lines[last]
  if (found?.read == null) {
    if (from > 0 || !lines.every(({ bytes }) => couldStartWith(bytes, linePrefix)))
      throw new Error('it holds something else than an audit log')
    return { link: null, torn: joinLines(lines), isEnded: lines.at(-1)?.isEnded ?? true }
  }
  checkSeal(found.read, lines[last - 1]?.read ?? null, key)
  const behind = lines.slice(last + 1)
  const isEnded = (behind.at(-1) ?? found).isEnded
  const { chain, number: count, mac } = found.read
  return { link: { chain, count, mac }, torn: behind.length === 0 ? null : joinLines(behind), isEnded }
}

interface Line {
  readonly bytes: Buffer
  readonly read: ParsedAuditLine | null
  readonly isEnded: boolean
}

const lineFeed = 10

const splitLines = (bytes: Buffer): readonly Line[] => {
  const lines: Line[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(lineFeed, at)
    const line = bytes.subarray(at, end === -1 ? bytes.length : end)
    lines.push({ bytes: line, read: parseAuditLine(line), isEnded: end !== -1 })
    at = end === -1 ? bytes.length : end + 1
  }
  return lines
}

const joinLines = (lines: readonly Line[]): Buffer =>
  Buffer.concat(lines.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [Buffer.from('\n'), bytes])))

/** Throws unless the last line can have been sealed with this key. */
const checkSeal = (last: ParsedAuditLine, before: ParsedAuditLine | null, key: AuditKey): void => {
  const fields = parseChainFields(last)
  // A `key` line ends the use of its own key: it names the one that follows.
  if (fields?.event === 'key' && fields.next === key.id) return
  const previous = fields?.previous ?? before?.mac
  if (previous !== undefined && computeMac(key, previous, last.sealed) === last.mac) return
  throw new Error(
    `its last line, number ${last.number}, was not sealed with audit.key, or was edited: start with the key that it was sealed with, and change that by a reload; or move the file away`,
  )
}
