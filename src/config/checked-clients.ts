import type * as z from 'zod'
import type { ClientConfig } from './config.ts'
import type { Finding } from './problem.ts'
import { clientSchema, maxClients } from './schema/clients.ts'
import { findingsOf } from './validate.ts'

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
