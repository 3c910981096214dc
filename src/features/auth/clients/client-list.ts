import type * as z from 'zod'
import type { IncludeFiles } from '../../../core/config/config-part.ts'
import type { SourceFile } from '../../../core/config/load/source-files.ts'
import { issuesFromZod } from '../../../core/config/load/zod-issues.ts'
import type { ConfigIssue, KeyPath, LocatableIssue } from '../../../core/config/problem.ts'
import { rawAt } from '../../../core/config/rules/rule.ts'
import { ExternalValue } from '../../../core/config/schema/scalar.ts'
import { type ClientFile, readClientFile } from './client-file.ts'
import { type ClientConfig, clientSchema, isClientFileReference, maxClients } from './config.ts'
import { clientsDigest } from './serialize-clients.ts'

// The serving thread compares their contents every `reload.poll`.
const maxFiles = 16

/** A run of clients that stand in one file, one after another. */
interface ClientRun {
  /** Null: the configuration file. */
  readonly file: ClientFile | null
  /** The reference, as the configuration writes it. */
  readonly shown: string | null
  /** The index of its first client in the whole list, and in its file. */
  readonly start: number
  readonly startInFile: number
  count: number
}

/** Replaces each reference to a file in `clients` by the clients of that file; null: neither a list nor a reference. */
export const includeFiles: IncludeFiles = (tree, folder, environment) => {
  const stated = rawAt(tree, ['clients'])
  const soleReference = parseReference(stated)
  if (soleReference === null && !Array.isArray(stated)) return null
  const entries: readonly unknown[] = soleReference === null && Array.isArray(stated) ? stated : [stated]
  const list: unknown[] = []
  const parts: ClientRun[] = []
  const issues: LocatableIssue[] = []
  const files: ClientFile[] = []
  const sources: SourceFile[] = []
  const addOwnEntry = (entry: unknown, index: number): KeyPath => {
    if (parts.at(-1)?.file !== null)
      parts.push({ file: null, shown: null, start: list.length, startInFile: index, count: 0 })
    for (const part of parts.slice(-1)) part.count++
    return ['clients', list.push(entry) - 1]
  }
  for (const [index, entry] of entries.entries()) {
    const reference = parseReference(entry)
    if (reference === null) {
      addOwnEntry(entry, index)
      continue
    }
    const read = sources.length < maxFiles ? readClientFile(folder, reference.name, environment) : null
    if (read !== null) sources.push(read.source)
    if (read === null || 'reason' in read) {
      issues.push({
        path: addOwnEntry(entry, index),
        message: `the file cannot be used: ${read?.reason ?? 'there are too many'}`,
        expected: `at most ${maxFiles} readable lists of clients`,
        found: reference.shown,
      })
      continue
    }
    const isOfClient = ({ path: [nth] }: ConfigIssue): boolean => typeof nth === 'number' && nth < read.list.length
    for (const { path, ...issue } of read.issues.filter(isOfClient))
      issues.push({ ...issue, path: ['clients', list.length + Number(path[0]), ...path.slice(1)] })
    const file = { ...read, issues: read.issues.filter((each) => !isOfClient(each)) }
    files.push(file)
    parts.push({ file, shown: reference.shown, start: list.length, startInFile: 0, count: file.list.length })
    for (const each of file.list) list.push(each)
  }
  return {
    key: 'clients',
    value: list, // a reference to a file that cannot be read stands there itself
    files,
    sources,
    issues,
    validate() {
      const { clients, issues } = validateClients(list)
      const shownParts = parts.map(({ shown, count }) => ({ file: shown, count }))
      return { issues, config: { clients, clientsSource: { parts: shownParts, digest: clientsDigest(clients) } } }
    },
    toFilePath(path) {
      const [, index, ...below] = path
      if (typeof index !== 'number') return { file: null, path }
      const { file, start, startInFile } = parts.findLast((part) => part.start <= index && part.count > 0) ?? emptyRun
      const inFile = [index - start + startInFile, ...below]
      if (file !== null) return { file, path: inFile }
      // One reference alone is the value itself, and no entry of it.
      return { file, path: ['clients', ...(soleReference === null ? inFile : below)] }
    },
  }
}

const emptyRun = { file: null, start: 0, startInFile: 0 }

const parseReference = (value: unknown): { readonly name: string; readonly shown: string } | null => {
  const text = value instanceof ExternalValue ? value.text : value
  if (typeof text !== 'string' || !isClientFileReference(text)) return null
  return { name: text.slice('file:'.length), shown: value instanceof ExternalValue ? value.asWritten : text }
}

export const validateClients = (
  list: readonly unknown[],
): { readonly clients: readonly ClientConfig[]; readonly issues: readonly ConfigIssue[] } => {
  const clients: ClientConfig[] = []
  const zodIssues: z.core.$ZodIssue[] = []
  for (const [index, entry] of list.entries()) {
    const { data, error } = clientSchema.safeParse(entry)
    if (data !== undefined) clients.push(withBurst(data))
    for (const zodIssue of error?.issues ?? [])
      zodIssues.push({ ...zodIssue, path: ['clients', index, ...zodIssue.path] })
  }
  const issues = issuesFromZod(zodIssues, { clients: list })
  if (list.length <= maxClients) return { clients, issues }
  const expected = `at most ${maxClients}`
  const tooMany = { path: ['clients'], message: 'too many entries', expected, found: String(list.length) }
  return { clients, issues: [tooMany, ...issues] }
}

const withBurst = (client: z.output<typeof clientSchema>): ClientConfig => ({
  ...client,
  burst: client.burst ?? client.rate?.count ?? null,
})
