import type { Finding } from './problem.ts'
import { authSchema } from './schema/auth.ts'
import { childAt } from './tree.ts'

/** Checks that what is said of clients can be enforced. */
export function clientFindings(tree: unknown): readonly Finding[] {
  const listed = childAt(tree, ['clients'])
  const clients: readonly unknown[] = Array.isArray(listed) ? listed : []
  return [...(clients.length === 0 ? [] : unasked(tree)), ...clients.flatMap(lostBurst)]
}

/** Whoever writes down what clients may do believes that it holds. */
function unasked(tree: unknown): readonly Finding[] {
  const auth = childAt(tree, ['auth'])
  if (auth !== undefined && authSchema.safeParse(auth).data !== null) return []
  const message = 'this cannot be enforced: nobody is asked who it is'
  const hint = 'add auth: { methods: [apiKey] } at the top level, or remove clients'
  return [{ path: ['clients'], message, expected: 'auth at the top level', found: 'none', hint }]
}

function lostBurst(client: unknown, index: number): readonly Finding[] {
  const burst = childAt(client, ['burst'])
  if (burst === undefined || childAt(client, ['rate']) !== undefined) return []
  const path = ['clients', index, 'burst']
  const told = { message: 'a burst of no rate', expected: 'rate beside it', found: 'none' }
  return [{ path, ...told, hint: 'add rate: 100/s, or remove burst' }]
}
