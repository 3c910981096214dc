import { catalog } from '../../catalog.ts'
import { withTwins } from '../../fields.ts'
import { readKeySet } from '../../shared/jwks/key-set.ts'
import type { Finding, Path } from '../problem.ts'
import { authSchema, operationAuth } from '../schema/auth.ts'
import { External } from '../schema/scalar.ts'
import { configSchema } from '../schema.ts'
import { type Check, childAt, type Found, listAt, methodLists } from './rule.ts'

/** What is said of all operations; nothing where that is broken, which is told of by itself. */
type Parsed = ReturnType<typeof authSchema.safeParse>['data']

const requestId = configSchema.shape.requestId.unwrap().shape.header

/** What is asked of clients can be asked. */
const asked: Check = (tree) => {
  const auth = childAt(tree, ['auth'])
  const { data } = authSchema.safeParse(auth)
  if (auth === undefined || data === null) return catalog.map(({ id }) => unguarded(tree, id))
  return [takenFields(tree, data), methods(tree), keyless(data), bare(tree)]
}

/** An operation cannot ask for what nobody says how to prove. */
const unguarded = (tree: unknown, id: string): Found => {
  const path: Path = ['operations', id, 'auth']
  const stated = childAt(tree, path)
  if (stated === undefined || operationAuth.safeParse(stated).data === null) return null
  const message = 'nothing says how clients prove who they are'
  const hint = 'add auth: { methods: [apiKey] } at the top level'
  return { path, message, expected: 'auth at the top level', found: 'none', hint }
}

/** A field is for one thing: who wrote the request id, or a key, would be whom it names. Twins with an underscore are removed as one. */
const takenFields = (tree: unknown, auth: Parsed): Found => {
  if (!auth) return null
  const own = requestId.safeParse(childAt(tree, ['requestId', 'header']) ?? 'X-Request-Id').data ?? null
  const fields: readonly (readonly [Path, string | null])[] = [
    [['auth', 'methods'], methodLists(tree).some(({ names }) => names.some(isOfTokens)) ? 'Authorization' : null],
    [['auth', 'dpop'], auth.dpop === null ? null : 'DPoP'],
    [['auth', 'mtls', 'from'], auth.mtls.from === 'client-cert' ? 'Client-Cert' : null],
    [['auth', 'mtls', 'from'], auth.mtls.from === 'client-cert' ? 'Client-Cert-Chain' : null],
    [['requestId', 'header'], own],
    [['auth', 'apiKey', 'field'], auth.apiKey.field],
    [['auth', 'identityField'], auth.identityField],
  ]
  return fields.map(([path, name], index) => {
    const before = fields
      .slice(0, index)
      .find(([, other]) => name !== null && other !== null && withTwins(other) === withTwins(name))
    return (
      before && {
        path,
        message: 'this field is used for something else',
        expected: 'a field of its own',
        found: String(before[1]),
        hint: 'choose another name',
      }
    )
  })
}

const isOfTokens = (name: unknown): name is 'jwt' | 'introspection' => name === 'jwt' || name === 'introspection'

/** A method must know what it takes, and no other may take it all before. */
const methods: Check = (tree) =>
  methodLists(tree).map(({ path, names }) =>
    names.map(
      (name, index) =>
        isOfTokens(name) && [
          childAt(tree, ['auth', name]) === undefined && {
            path: [...path, index],
            message: 'nothing says which tokens are good',
            expected: `auth.${name} at the top level`,
            found: 'none',
            hint: settling[name],
          },
          name === 'jwt' &&
            names.slice(0, index).includes('introspection') && {
              path: [...path, index],
              message: 'no token gets as far as this: introspection takes them all',
              expected: 'jwt before introspection',
              found: 'jwt behind it',
              hint: 'write jwt first: it leaves to introspection what is no JWT',
            },
        ],
    ),
  )

const settling = {
  jwt: 'add jwt: { issuer: …, audience: […], jwks: https://… } under auth',
  introspection: 'add introspection: { url: https://…, clientId: …, clientSecret: file:… } under auth',
}

/** Keys that stand in a file must be for what tokens may be signed with: nobody could call anything else. */
const keyless = (auth: Parsed): Found => {
  if (!auth?.jwt || !('text' in auth.jwt.jwks)) return null
  const { jwks, algorithms } = auth.jwt
  const keys = readKeySet(jwks.text, null)
  return (
    algorithms.every((algorithm) => keys.find(algorithm, null).length === 0) && {
      path: ['auth', 'jwt', 'algorithms'],
      message: 'no key of auth.jwt.jwks is for any of these, so no token is good',
      expected: 'an algorithm that the issuer signs with',
      found: algorithms.join(', '),
      hint: 'see alg and kty of its keys',
    }
  )
}

/** A key says nothing of scopes, nor does a certificate: who shows one could never call what asks for them. */
const bare: Check = (tree) =>
  catalog.map(({ id }) => {
    const { data } = operationAuth.safeParse(childAt(tree, ['operations', id, 'auth']))
    if (!data) return null
    const taken: unknown = data.methods ?? childAt(tree, ['auth', 'methods'])
    if (!Array.isArray(taken) || !taken.some((name) => name === 'apiKey' || name === 'mtls')) return null
    return (['scopes', 'claims'] as const).map(
      (key) =>
        Object.keys(data[key]).length > 0 && {
          path: ['operations', id, 'auth', key],
          message: 'only a token says something of these, so nobody could call this with anything else',
          expected: 'methods that take tokens alone',
          found: taken.join(', '),
          hint: 'add methods: [jwt] beside it, or leave it out',
        },
    )
  })

/** Each client is there once, and so is each key. */
const twice: Check = (tree) => {
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
  for (const [index, client] of listAt(tree, ['clients']).entries()) {
    note(ids, textAt(client, 'id'), () => ['clients', index, 'id'], 'client of this name')
    note(said, saidBy(childAt(client, ['claims'])), () => ['clients', index, 'claims'], 'client of these claims')
    for (const [at, key] of listAt(client, ['apiKeys']).entries())
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

/** Whoever writes down what clients may do believes that it holds. */
const unenforced: Check = (tree) => {
  const auth = childAt(tree, ['auth'])
  if (listAt(tree, ['clients']).length === 0) return null
  if (auth !== undefined && authSchema.safeParse(auth).data !== null) return null
  const message = 'this cannot be enforced: nobody is asked who it is'
  const hint = 'add auth: { methods: [apiKey] } at the top level, or remove clients'
  return { path: ['clients'], message, expected: 'auth at the top level', found: 'none', hint }
}

const lostBurst: Check = (tree) =>
  listAt(tree, ['clients']).map(
    (client, index) =>
      childAt(client, ['burst']) !== undefined &&
      childAt(client, ['rate']) === undefined && {
        path: ['clients', index, 'burst'],
        message: 'a burst of no rate',
        expected: 'rate beside it',
        found: 'none',
        hint: 'add rate: 100/s, or remove burst',
      },
  )

/** Checks that what is asked of clients can be asked, that each of them, and each key, is one client's, and that their bounds hold. */
export const authChecks: readonly Check[] = [asked, twice, unenforced, lostBurst]
