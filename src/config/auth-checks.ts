import { catalog } from '../catalog.ts'
import { withTwins } from '../fields.ts'
import { readKeySet } from '../shared/jwks/key-set.ts'
import { childAt, methodLists } from './auth-places.ts'
import type { Finding, Path } from './problem.ts'
import { authSchema, operationAuth } from './schema/auth.ts'
import { External } from './schema/scalar.ts'
import { configSchema } from './schema.ts'

/** Is what is said of all operations; nothing where that is broken, which is told of by itself. */
type Parsed = ReturnType<typeof authSchema.safeParse>['data']

const requestId = configSchema.shape.requestId.unwrap().shape.header

/** Checks that what is asked of clients can be asked, and that each of them, and each key, is one client's. */
export function authFindings(tree: unknown): readonly Finding[] {
  const auth = childAt(tree, ['auth'])
  const { data } = authSchema.safeParse(auth)
  const isOn = auth !== undefined && data !== null
  const asked = isOn
    ? [...fieldFindings(tree, data), ...methodFindings(tree), ...keyFindings(data), ...bareFindings(tree)]
    : catalog.flatMap(({ id }) => unguarded(tree, id))
  return [...asked, ...twice(tree)]
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

/** A field is for one thing: who wrote the request id, or a key, would be whom it names. Twins with an underscore are removed as one. */
function fieldFindings(tree: unknown, auth: Parsed): readonly Finding[] {
  if (!auth) return []
  const own = requestId.safeParse(childAt(tree, ['requestId', 'header']) ?? 'X-Request-Id').data ?? null
  const fields: readonly (readonly [Path, string | null])[] = [
    [['auth', 'methods'], methodLists(tree).some(({ names }) => takesTokens(names)) ? 'Authorization' : null],
    [['auth', 'dpop'], auth.dpop === null ? null : 'DPoP'],
    [['auth', 'mtls', 'from'], auth.mtls.from === 'client-cert' ? 'Client-Cert' : null],
    [['auth', 'mtls', 'from'], auth.mtls.from === 'client-cert' ? 'Client-Cert-Chain' : null],
    [['requestId', 'header'], own],
    [['auth', 'apiKey', 'field'], auth.apiKey.field],
    [['auth', 'identityField'], auth.identityField],
  ]
  return fields.flatMap(([path, name], index): readonly Finding[] => {
    const before = fields
      .slice(0, index)
      .find(([, other]) => name !== null && other !== null && withTwins(other) === withTwins(name))
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

const takesTokens = (methods: readonly unknown[]): boolean =>
  methods.some((name) => name === 'jwt' || name === 'introspection')

/** A method must know what it takes, and no other may take it all before. */
function methodFindings(tree: unknown): readonly Finding[] {
  return methodLists(tree).flatMap(({ path, names }) =>
    names.flatMap((name, index): readonly Finding[] => {
      if (name !== 'jwt' && name !== 'introspection') return []
      return [
        ...(childAt(tree, ['auth', name]) === undefined ? [unsettled([...path, index], name)] : []),
        ...(name === 'jwt' && names.slice(0, index).includes('introspection') ? [neverAsked([...path, index])] : []),
      ]
    }),
  )
}

/** Keys that stand in a file must be for what tokens may be signed with: nobody could call anything else. */
function keyFindings(auth: Parsed): readonly Finding[] {
  if (!auth?.jwt || !('text' in auth.jwt.jwks)) return []
  const { jwks, algorithms } = auth.jwt
  const keys = readKeySet(jwks.text, null)
  return algorithms.some((algorithm) => keys.find(algorithm, null).length > 0) ? [] : [keyless(algorithms)]
}

/** A key says nothing of scopes, nor does a certificate: who shows one could never call what asks for them. */
function bareFindings(tree: unknown): readonly Finding[] {
  return catalog.flatMap(({ id }): readonly Finding[] => {
    const { data } = operationAuth.safeParse(childAt(tree, ['operations', id, 'auth']))
    if (data === undefined || data === null) return []
    const methods: unknown = data.methods ?? childAt(tree, ['auth', 'methods'])
    if (!Array.isArray(methods) || !methods.some((name) => name === 'apiKey' || name === 'mtls')) return []
    return (['scopes', 'claims'] as const).flatMap((key): readonly Finding[] =>
      Object.keys(data[key]).length === 0
        ? []
        : [
            {
              path: ['operations', id, 'auth', key],
              message: 'only a token says something of these, so nobody could call this with anything else',
              expected: 'methods that take tokens alone',
              found: methods.join(', '),
              hint: 'add methods: [jwt] beside it, or leave it out',
            },
          ],
    )
  })
}

const unsettled = (path: Path, name: 'jwt' | 'introspection'): Finding => ({
  path,
  message: 'nothing says which tokens are good',
  expected: `auth.${name} at the top level`,
  found: 'none',
  hint:
    name === 'jwt'
      ? 'add jwt: { issuer: …, audience: […], jwks: https://… } under auth'
      : 'add introspection: { url: https://…, clientId: …, clientSecret: file:… } under auth',
})

const keyless = (algorithms: readonly string[]): Finding => ({
  path: ['auth', 'jwt', 'algorithms'],
  message: 'no key of auth.jwt.jwks is for any of these, so no token is good',
  expected: 'an algorithm that the issuer signs with',
  found: algorithms.join(', '),
  hint: 'see alg and kty of its keys',
})

const neverAsked = (path: Path): Finding => ({
  path,
  message: 'no token gets as far as this: introspection takes them all',
  expected: 'jwt before introspection',
  found: 'jwt behind it',
  hint: 'write jwt first: it leaves to introspection what is no JWT',
})

function twice(tree: unknown): readonly Finding[] {
  const listed = childAt(tree, ['clients'])
  const clients: readonly unknown[] = Array.isArray(listed) ? listed : []
  const ids = new Set<string>()
  const keys = new Set<string>()
  const said = new Set<string>()
  const findings: Finding[] = []
  const note = (seen: Set<string>, name: string | null, path: () => Path, what: string): void => {
    if (name === null) return
    const told = { message: `a ${what} stands here already`, expected: 'each once', found: 'it twice' }
    if (seen.has(name)) findings.push({ path: path(), ...told, hint: 'rename or remove one of them' })
    seen.add(name)
  }
  for (const [index, client] of clients.entries()) {
    note(ids, textAt(client, 'id'), () => ['clients', index, 'id'], 'client of this name')
    note(said, saidBy(childAt(client, ['claims'])), () => ['clients', index, 'claims'], 'client of these claims')
    const own = childAt(client, ['apiKeys'])
    for (const [at, key] of (Array.isArray(own) ? own : []).entries())
      note(keys, textAt(key, 'id'), () => ['clients', index, 'apiKeys', at, 'id'], 'key of this id')
  }
  return findings
}

/** Reads a text that nobody has checked; null: it is none. */
function textAt(tree: unknown, key: string): string | null {
  // Of thousands of clients: without a copy of each property, which childAt makes.
  const isMap = typeof tree === 'object' && tree !== null && !(tree instanceof External) && Object.hasOwn(tree, key)
  const stated = isMap ? (tree as Readonly<Record<string, unknown>>)[key] : undefined
  const text = stated instanceof External ? stated.text : stated
  return typeof text === 'string' ? text : null
}

/** Writes claims so that the same ones are the same text; null: there are none, or what stands there is none. */
function saidBy(claims: unknown): string | null {
  if (typeof claims !== 'object' || claims === null || claims instanceof External) return null
  const names = Object.keys(claims).sort()
  return names.length === 0 ? null : JSON.stringify(names.map((name) => [name, textAt(claims, name)]))
}

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
