import type * as z from 'zod'
import { type ClientFile, readClientFile } from './client-file.ts'
import type { ClientConfig, ClientsSource } from './config.ts'
import type { Environment } from './environment.ts'
import type { Finding, Path, Placed } from './problem.ts'
import { clientSchema, isIncluded, maxClients } from './schema/clients.ts'
import { External } from './schema/scalar.ts'
import { findingsOf } from './validate.ts'

// What they hold is compared again and again, in the thread that serves.
const maxFiles = 16

/** Is what `clients` says, with what stands in files of its own in its place. */
export interface ClientList {
  /** Everything that is a client, or should be one. */
  readonly list: readonly unknown[]
  readonly parts: ClientsSource['parts']
  readonly files: readonly ClientFile[]
  /** What is wrong with references, and with how clients are written in their files; paths start at `clients`. */
  readonly findings: readonly Placed[]
  /** Finds the file that a place in the list is of, and the place in that; null: the configuration's own. */
  placeOf(path: Path): { readonly file: ClientFile | null; readonly path: Path }
}

/** Is a run of clients that stand in one file, one after another. */
interface Part {
  /** Null: the configuration's own. */
  readonly file: ClientFile | null
  /** What the configuration says in its place. */
  readonly shown: string | null
  /** Where it begins in the whole list, and where in its file. */
  readonly start: number
  readonly own: number
  count: number
}

/** Follows the references of `clients`; null: it is no list and no reference. Relative names start at `folder`. */
export const listClients = (stated: unknown, folder: string, environment: Environment): ClientList | null => {
  const alone = referenceIn(stated)
  if (alone === null && !Array.isArray(stated)) return null
  const entries: readonly unknown[] = alone === null && Array.isArray(stated) ? stated : [stated]
  const list: unknown[] = []
  const parts: Part[] = []
  const findings: Placed[] = []
  const files: ClientFile[] = []
  for (const [index, entry] of entries.entries()) {
    const reference = referenceIn(entry)
    if (reference === null) {
      if (parts.at(-1)?.file !== null) parts.push({ file: null, shown: null, start: list.length, own: index, count: 0 })
      for (const part of parts.slice(-1)) part.count++
      list.push(entry)
      continue
    }
    const read = files.length < maxFiles ? readClientFile(folder, reference.name, environment) : 'there are too many'
    if (typeof read === 'string') {
      const expected = `at most ${maxFiles} readable lists of clients`
      findings.push({
        path: ['clients'],
        message: `the file cannot be used: ${read}`,
        expected,
        found: reference.shown,
      })
      continue
    }
    const isOfClient = ({ path: [nth] }: Finding): boolean => typeof nth === 'number' && nth < read.list.length
    for (const { path, ...finding } of read.findings.filter(isOfClient))
      findings.push({ ...finding, path: ['clients', list.length + Number(path[0]), ...path.slice(1)] })
    const file = { ...read, findings: read.findings.filter((each) => !isOfClient(each)) }
    files.push(file)
    parts.push({ file, shown: reference.shown, start: list.length, own: 0, count: file.list.length })
    for (const each of file.list) list.push(each)
  }
  return {
    list,
    parts: parts.map(({ shown, count }) => ({ file: shown, count })),
    files,
    findings,
    placeOf(path) {
      const [section, index, ...below] = path
      if (section !== 'clients' || typeof index !== 'number') return { file: null, path }
      const { file, start, own } = parts.findLast((part) => part.start <= index && part.count > 0) ?? noPart
      const inFile = [index - start + own, ...below]
      return { file, path: file === null ? ['clients', ...inFile] : inFile }
    },
  }
}

const noPart = { file: null, start: 0, own: 0 }

const referenceIn = (value: unknown): { readonly name: string; readonly shown: string } | null => {
  const text = value instanceof External ? value.text : value
  if (typeof text !== 'string' || !isIncluded(text)) return null
  return { name: text.slice('file:'.length), shown: value instanceof External ? value.shown : text }
}

/** Checks each entry of the list of clients. */
export const checkedClients = (
  list: readonly unknown[],
): { readonly clients: readonly ClientConfig[]; readonly findings: readonly Finding[] } => {
  const clients: ClientConfig[] = []
  const issues: z.core.$ZodIssue[] = []
  for (const [index, entry] of list.entries()) {
    const { data, error } = clientSchema.safeParse(entry)
    if (data !== undefined) clients.push(resolved(data))
    for (const issue of error?.issues ?? []) issues.push({ ...issue, path: ['clients', index, ...issue.path] })
  }
  const findings = findingsOf(issues, { clients: list })
  if (list.length <= maxClients) return { clients, findings }
  const expected = `at most ${maxClients}`
  const tooMany = { path: ['clients'], message: 'too many entries', expected, found: String(list.length) }
  return { clients, findings: [tooMany, ...findings] }
}

const resolved = (client: z.output<typeof clientSchema>): ClientConfig => ({
  ...client,
  burst: client.burst ?? client.rate?.count ?? null,
})
