import type * as z from 'zod'
import type { ClientConfig } from './config.ts'
import type { Finding } from './problem.ts'
import { clientSchema, maxClients } from './schema/clients.ts'
import { quick, unsure } from './schema/quick.ts'
import { findingsOf } from './validate.ts'

const read = quick(clientSchema)

/** Is what became of a list of clients. */
interface Checked {
  readonly clients: readonly ClientConfig[]
  /** What is wrong; paths start in this list. */
  readonly issues: readonly z.core.$ZodIssue[]
}

// Of a file that holds the same as before, the list is the very same.
const known = new WeakMap<readonly unknown[], Checked>()

/** Checks each entry of lists of clients that stand one after another, and only those by zod that something may be wrong with. */
export const checkedClients = (
  lists: readonly (readonly unknown[])[],
): { readonly clients: readonly ClientConfig[]; readonly findings: readonly Finding[] } => {
  const clients: ClientConfig[] = []
  const issues: z.core.$ZodIssue[] = []
  let start = 0
  for (const list of lists) {
    const checked = known.get(list) ?? check(list)
    known.set(list, checked)
    for (const each of checked.clients) clients.push(each)
    for (const issue of checked.issues) {
      const [nth, ...below] = issue.path
      issues.push({ ...issue, path: ['clients', start + Number(nth), ...below] })
    }
    start += list.length
  }
  const findings = issues.length === 0 ? [] : findingsOf(issues, { clients: lists.flat() })
  if (start <= maxClients) return { clients, findings }
  const expected = `at most ${maxClients}`
  const tooMany = { path: ['clients'], message: 'too many entries', expected, found: String(start) }
  return { clients, findings: [tooMany, ...findings] }
}

const check = (list: readonly unknown[]): Checked => {
  const clients: ClientConfig[] = []
  const issues: z.core.$ZodIssue[] = []
  for (const [index, entry] of list.entries()) {
    const got = read(entry)
    if (got !== unsure) {
      clients.push(resolved(got))
      continue
    }
    const { data, error } = clientSchema.safeParse(entry)
    if (data !== undefined) clients.push(resolved(data))
    for (const issue of error?.issues ?? []) issues.push({ ...issue, path: [index, ...issue.path] })
  }
  return { clients, issues }
}

const resolved = (client: z.output<typeof clientSchema>): ClientConfig => ({
  ...client,
  burst: client.burst ?? client.rate?.count ?? null,
})
