import type * as z from 'zod'
import type { Finding } from './problem.ts'
import { clientSchema, maxClients } from './schema/clients.ts'
import { quick, unsure } from './schema/quick.ts'
import { findingsOf } from './validate.ts'

/** Is a client as validated. */
export type ParsedClient = z.output<typeof clientSchema>

const read = quick(clientSchema)

/** Checks each entry of a list of clients, and only those by zod that something may be wrong with. */
export const checkedClients = (
  list: readonly unknown[],
): { readonly clients: readonly ParsedClient[]; readonly findings: readonly Finding[] } => {
  const clients: ParsedClient[] = []
  const issues: z.core.$ZodIssue[] = []
  for (const [index, entry] of list.entries()) {
    const got = read(entry)
    if (got !== unsure) {
      clients.push(got)
      continue
    }
    const { data, error } = clientSchema.safeParse(entry)
    if (data !== undefined) clients.push(data)
    for (const issue of error?.issues ?? []) issues.push({ ...issue, path: ['clients', index, ...issue.path] })
  }
  const findings = findingsOf(issues, { clients: list })
  if (list.length <= maxClients) return { clients, findings }
  const found = String(list.length)
  const tooMany = { path: ['clients'], message: 'too many entries', expected: `at most ${maxClients}`, found }
  return { clients, findings: [tooMany, ...findings] }
}
