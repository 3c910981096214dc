import { resolve } from 'node:path'
import type { Finding, Path } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { type Place, places } from './schema/places.ts'
import { External } from './schema/scalar.ts'
import { type SourceFile, sourceOf } from './sources.ts'

const limit = 64 * 1024
// What they hold is compared again and again, in the thread that serves.
const maxFiles = 256

const referring = places.filter(({ file }) => file !== undefined)

/** Is a tree with its references filled in. */
interface Filled {
  readonly tree: unknown
  readonly findings: readonly Finding[]
  /** The files that were read, or should have been, each once. */
  readonly sources: readonly SourceFile[]
}

/**
 * Replaces `file:` references by what the files hold, less one trailing line end. Relative names start at `folder`. A file that is
 * missing, unreadable, empty, larger than 64 KiB or not text is a finding at its key; so are more than 256 files.
 */
export function readSecrets(tree: unknown, folder: string): Filled {
  const findings: Finding[] = []
  const files = new Map<string, ReturnType<typeof readBounded>>()
  let refused = false
  const read = (value: unknown, path: Path, { file: kind }: Place): unknown => {
    const reference = value instanceof External ? value.text : value
    if (typeof reference !== 'string' || !reference.startsWith('file:')) return value
    const shown = value instanceof External ? value.shown : reference
    const file = resolve(folder, reference.slice('file:'.length))
    const bytes = files.get(file) ?? (files.size < maxFiles ? readBounded(file, limit) : null)
    if (bytes === null) {
      if (!refused) findings.push({ path, ...tooManyFiles })
      refused = true
      return new External('', shown, false)
    }
    files.set(file, bytes)
    const text = isUnread(bytes) ? bytes : contents(bytes, kind === 'lines')
    if (typeof text === 'string') return new External(text, shown, false)
    const hint = 'hint' in text ? text.hint : undefined
    findings.push({ path, message: `the file cannot be used: ${text.reason}`, expected, found: shown, hint })
    return new External('', shown, false)
  }
  const fill = (value: unknown, path: Path, within: readonly Place[]): unknown => {
    const depth = path.length
    const place = within.find((each) => each.path.length === depth)
    if (place !== undefined) return read(value, path, place)
    return mapEntries(value, (entry, key) => {
      const any = typeof key === 'number' ? '#' : '*'
      const deeper = within.filter((each) => each.path[depth] === any || each.path[depth] === key)
      return deeper.length === 0 ? entry : fill(entry, [...path, key], deeper)
    })
  }
  const filled = fill(tree, [], referring)
  const sources = [...files].map(([file, bytes]) => sourceOf(file, isUnread(bytes) ? null : bytes, limit))
  return { tree: filled, findings, sources }
}

const tooManyFiles = {
  message: 'too many files are referred to',
  expected: `at most ${maxFiles}`,
  found: 'one more',
  hint: 'several values may refer to the same file',
}

const expected = 'a readable text file of 1 byte to 64KiB'

function contents(
  bytes: Buffer,
  lines: boolean,
): string | { readonly reason: string; readonly hint?: string | undefined } {
  const text = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (text === '') return { reason: 'it is empty' }
  if (text.includes('\uFFFD')) return { reason: 'it is not UTF-8' }
  if ((lines ? notText : notLine).test(text)) {
    const hint = lines ? undefined : 'a value is one line of Latin-1'
    return { reason: 'it holds a control character or one beyond U+00FF', hint }
  }
  return text
}

const notLine = /[^\t\x20-\x7e\x80-\xff]/
const notText = /[^\t\r\n\x20-\x7e\x80-\xff]/

function mapEntries(value: unknown, change: (entry: unknown, key: string | number) => unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof External) return value
  if (Array.isArray(value)) return value.map(change)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, change(entry, key)]))
}
