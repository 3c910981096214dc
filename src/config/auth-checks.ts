import { catalog } from '../catalog.ts'
import type { Finding, Path } from './problem.ts'
import { authSchema, operationAuth } from './schema/auth.ts'
import { External } from './schema/scalar.ts'
import { configSchema } from './schema.ts'
import { childAt } from './tree.ts'

const requestId = configSchema.shape.requestId.unwrap().shape.header

/** Checks that what is asked of clients can be asked, and that each of them, and each key, is one client's. */
export function authFindings(tree: unknown): readonly Finding[] {
  const auth = childAt(tree, ['auth'])
  const isOn = auth !== undefined && authSchema.safeParse(auth).data !== null
  return [...(isOn ? fieldFindings(tree, auth) : catalog.flatMap(({ id }) => unguarded(tree, id))), ...twice(tree)]
}

/** An operation cannot ask for what nobody says how to prove. */
function unguarded(tree: unknown, id: string): readonly Finding[] {
  const path: Path = ['operations', id, 'auth']
  const stated = childAt(tree, path)
  if (stated === undefined || operationAuth.safeParse(stated).data === null) return []
  const message = 'nothing says how clients prove who they are'
  const hint = 'add auth: { methods: [apiKey] } at the top level'
  return [{ path, message, expected: 'auth at the top level', found: 'none', hint }]
}

/** A field is for one thing: who wrote the request id, or a key, would be whom it names. */
function fieldFindings(tree: unknown, auth: unknown): readonly Finding[] {
  const { data } = authSchema.safeParse(auth)
  if (data === undefined || data === null) return []
  const own = requestId.safeParse(childAt(tree, ['requestId', 'header']) ?? 'X-Request-Id').data ?? null
  const fields: readonly (readonly [Path, string | null])[] = [
    [['requestId', 'header'], own],
    [['auth', 'apiKey', 'field'], data.apiKey.field],
    [['auth', 'identityField'], data.identityField],
  ]
  return fields.flatMap(([path, name], index): readonly Finding[] => {
    const before = fields
      .slice(0, index)
      .find(([, other]) => name !== null && other?.toLowerCase() === name.toLowerCase())
    if (before === undefined) return []
    const [, used] = before
    const hint = 'choose another name'
    return [
      {
        path,
        message: 'this field is used for something else',
        expected: 'a field of its own',
        found: String(used),
        hint,
      },
    ]
  })
}

function twice(tree: unknown): readonly Finding[] {
  const listed = childAt(tree, ['clients'])
  const clients: readonly unknown[] = Array.isArray(listed) ? listed : []
  const ids = new Set<string>()
  const keys = new Set<string>()
  const findings: Finding[] = []
  const note = (seen: Set<string>, entry: unknown, path: () => Path, what: string): void => {
    const stated = childAt(entry, ['id'])
    const name = stated instanceof External ? stated.text : stated
    if (typeof name !== 'string') return
    const told = { message: `a ${what} stands here already`, expected: 'each once', found: 'it twice' }
    if (seen.has(name)) findings.push({ path: [...path(), 'id'], ...told, hint: 'rename or remove one of them' })
    seen.add(name)
  }
  for (const [index, client] of clients.entries()) {
    note(ids, client, () => ['clients', index], 'client of this name')
    const own = childAt(client, ['apiKeys'])
    for (const [at, key] of (Array.isArray(own) ? own : []).entries())
      note(keys, key, () => ['clients', index, 'apiKeys', at], 'key of this id')
  }
  return findings
}
