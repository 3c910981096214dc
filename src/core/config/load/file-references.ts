import { isAbsolute, resolve } from 'node:path'
import { isFieldValue } from '../../exchange/header-fields.ts'
import { formatSize } from '../../lib/text/units.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import type { SchemaAnnotations } from '../schema/annotations.ts'
import { ExternalValue } from '../schema/scalar-kind.ts'
import { isReadError, maxReferencedBytes, readFileWithLimit, toSourceFile } from './source-files.ts'

// The serving thread reads all of them every `reload.poll`.
const maxFiles = 256

export interface ReferenceKey extends Pick<SchemaAnnotations, 'file'> {
  readonly path: readonly string[]
}

/**
 * A reference is replaced by the file's contents, without one trailing line end. `sources` has each file once,
 * unreadable ones too.
 */
export function resolveFileReferences(tree: unknown, folder: string, keys: readonly ReferenceKey[]) {
  const issues: ConfigIssue[] = []
  const files = new Map<string, ReturnType<typeof readFileWithLimit>>()
  const readReference = (value: unknown, path: KeyPath, { file: kind }: ReferenceKey): unknown => {
    const reference = value instanceof ExternalValue ? value.text : value
    if (typeof reference !== 'string' || !reference.startsWith('file:')) return value
    const shown = value instanceof ExternalValue ? value.asWritten : reference
    const file = resolve(folder, reference.slice('file:'.length))
    const bytes = files.get(file) ?? (files.size < maxFiles ? readFileWithLimit(file, maxReferencedBytes) : null)
    if (bytes === null) {
      issues.push({ path, ...tooManyFiles })
      return new ExternalValue('', shown, false)
    }
    files.set(file, bytes)
    const text = isReadError(bytes) ? bytes : parseContents(bytes, kind === 'lines')
    if (typeof text === 'string') return new ExternalValue(text, shown, false)
    const hint = isReadError(bytes) ? hintOfFolder(reference, folder) : 'hint' in text ? text.hint : undefined
    issues.push({ path, message: `the file cannot be used: ${text.reason}`, expected, found: shown, hint })
    return new ExternalValue('', shown, false)
  }
  const fill = (value: unknown, path: KeyPath, within: readonly ReferenceKey[]): unknown => {
    const depth = path.length
    const schemaKey = within.find((candidate) => candidate.path.length === depth)
    if (schemaKey !== undefined) return readReference(value, path, schemaKey)
    return mapEntries(value, (entry, key) => {
      const wildcard = typeof key === 'number' ? '#' : '*'
      const deeper = within.filter(({ path: known }) => known[depth] === wildcard || known[depth] === key)
      return deeper.length === 0 ? entry : fill(entry, [...path, key], deeper)
    })
  }
  const filled = fill(tree, [], keys)
  const sources = [...files].map(([file, bytes]) =>
    toSourceFile(file, isReadError(bytes) ? null : bytes, maxReferencedBytes),
  )
  return { tree: filled, issues, sources }
}

// Shows only the folder: the name may come from a variable.
const hintOfFolder = (reference: string, folder: string): string | undefined =>
  isAbsolute(reference.slice('file:'.length))
    ? undefined
    : `a relative name starts at the folder of the configuration file${folder === '.' ? '' : `, ${folder}`}`

const tooManyFiles = {
  message: 'too many files',
  expected: `at most ${maxFiles}`,
  found: 'one file more',
  hint: 'several keys may name the same file',
}

const expected = `a readable text file of 1 byte to ${formatSize(maxReferencedBytes)}`

function parseContents(bytes: Buffer, lines: boolean): string | { readonly reason: string; readonly hint?: string } {
  const text = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (text === '') return { reason: 'it is empty' }
  if (text.includes('\uFFFD')) return { reason: 'it is not UTF-8' }
  const reason = 'it contains a control character or a character above U+00FF'
  if (lines) return notText.test(text) ? { reason } : text
  return isFieldValue(text) ? text : { reason, hint: 'a value is one line of Latin-1' }
}

const notText = /[^\t\r\n\x20-\x7e\x80-\xff]/

function mapEntries(value: unknown, change: (entry: unknown, key: string | number) => unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExternalValue) return value
  if (Array.isArray(value)) return value.map(change)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, change(entry, key)]))
}
