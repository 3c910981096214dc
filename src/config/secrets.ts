import { resolve } from 'node:path'
import type { Finding, Path } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { External } from './schema/scalar.ts'

const limit = 64 * 1024

/**
 * Replaces the `file:` references of `request.set` and `response.set` by what the files hold, less one trailing line end. Relative names
 * start at `folder`. A file that is missing, unreadable, empty, larger than 64 KiB or not text is a finding at its key.
 */
export function readSecrets(tree: unknown, folder: string): { readonly tree: unknown; readonly findings: Finding[] } {
  const findings: Finding[] = []
  const read = (value: unknown, path: Path): unknown => {
    const reference = value instanceof External ? value.text : value
    if (typeof reference !== 'string' || !reference.startsWith('file:')) return value
    const shown = value instanceof External ? value.shown : reference
    const text = contents(resolve(folder, reference.slice('file:'.length)))
    if (typeof text === 'string') return new External(text, shown, false)
    findings.push({ path, message: `the file cannot be used: ${text.reason}`, expected, found: shown, hint: text.hint })
    return new External('', shown, false)
  }
  const set = (value: unknown, path: Path): unknown => mapEntries(value, (entry, name) => read(entry, [...path, name]))
  const edits = (value: unknown, path: Path): unknown =>
    mapEntries(value, (entry, key) => (key === 'set' ? set(entry, [...path, key]) : entry))
  const upstream = (value: unknown, path: Path): unknown =>
    mapEntries(value, (entry, key) => (key === 'request' || key === 'response' ? edits(entry, [...path, key]) : entry))
  const upstreams = (value: unknown): unknown =>
    mapEntries(value, (entry, group) => upstream(entry, ['upstreams', group]))

  return { tree: mapEntries(tree, (entry, key) => (key === 'upstreams' ? upstreams(entry) : entry)), findings }
}

const expected = 'a readable text file of 1 byte to 64KiB'

function contents(file: string): string | { readonly reason: string; readonly hint?: string } {
  const bytes = readBounded(file, limit)
  if (isUnread(bytes)) return bytes
  const text = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (text === '') return { reason: 'it is empty' }
  if (text.includes('\uFFFD')) return { reason: 'it is not UTF-8' }
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) {
    return { reason: 'it holds a control character or one beyond U+00FF', hint: 'a field value is one line of Latin-1' }
  }
  return text
}

function mapEntries(value: unknown, change: (entry: unknown, key: string) => unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof External) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, change(entry, key)]))
}
