import { foldUnderscores } from '../../header-fields.ts'
import { allOperations } from '../../operations.ts'
import { parseJwkSet } from '../../shared/jwk-set.ts'
import { configSchema } from '../config-schema.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import { ExternalValue } from '../schema/scalar.ts'
import { authSchema, operationAuthSchema } from '../sections/auth.ts'
import { authMethodLists, type ConfigRule, listAt, type RuleResult, valueAt } from './rule.ts'

/** What is said of all operations; nothing where that is broken, which is told of by itself. */
type ParsedAuth = ReturnType<typeof authSchema.safeParse>['data']

const requestId = configSchema.shape.requestId.unwrap().shape.header

/** What is asked of clients can be asked. */
const authSettings: ConfigRule = (tree) => {
  const auth = valueAt(tree, ['auth'])
  const { data } = authSchema.safeParse(auth)
  if (auth === undefined || data === null) return allOperations.map(({ id }) => unprovableAuth(tree, id))
  return [conflictingFields(tree, data), tokenMethods(tree), unusableAlgorithms(data), scopesWithoutToken(tree)]
}

/** An operation cannot ask for what nobody says how to prove. */
const unprovableAuth = (tree: unknown, id: string): RuleResult => {
  const path: KeyPath = ['operations', id, 'auth']
  const stated = valueAt(tree, path)
  if (stated === undefined || operationAuthSchema.safeParse(stated).data === null) return null
  const message = 'nothing says how clients prove who they are'
  const hint = 'add auth: { methods: [apiKey] } at the top level'
  return { path, message, expected: 'auth at the top level', found: 'none', hint }
}

/** A field is for one thing: who wrote the request id, or a key, would be whom it names. Twins with an underscore are removed as one. */
const conflictingFields = (tree: unknown, auth: ParsedAuth): RuleResult => {
  if (!auth) return null
  const own = requestId.safeParse(valueAt(tree, ['requestId', 'header']) ?? 'X-Request-Id').data ?? null
  const fields: readonly (readonly [KeyPath, string | null])[] = [
    [
      ['auth', 'methods'],
      authMethodLists(tree).some(({ names }) => names.some(isTokenMethod)) ? 'Authorization' : null,
    ],
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
      .find(([, other]) => name !== null && other !== null && foldUnderscores(other) === foldUnderscores(name))
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

const isTokenMethod = (name: unknown): name is 'jwt' | 'introspection' => name === 'jwt' || name === 'introspection'

/** A method must know what it takes, and no other may take it all before. */
const tokenMethods: ConfigRule = (tree) =>
  authMethodLists(tree).map(({ path, names }) =>
    names.map(
      (name, index) =>
        isTokenMethod(name) && [
          valueAt(tree, ['auth', name]) === undefined && {
            path: [...path, index],
            message: 'nothing says which tokens are good',
            expected: `auth.${name} at the top level`,
            found: 'none',
            hint: methodHints[name],
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

const methodHints = {
  jwt: 'add jwt: { issuer: …, audience: […], jwks: https://… } under auth',
  introspection: 'add introspection: { url: https://…, clientId: …, clientSecret: file:… } under auth',
}

/** Keys that stand in a file must be for what tokens may be signed with: nobody could call anything else. */
const unusableAlgorithms = (auth: ParsedAuth): RuleResult => {
  if (!auth?.jwt || !('text' in auth.jwt.jwks)) return null
  const { jwks, algorithms } = auth.jwt
  const keys = parseJwkSet(jwks.text, null)
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
const scopesWithoutToken: ConfigRule = (tree) =>
  allOperations.map(({ id }) => {
    const { data } = operationAuthSchema.safeParse(valueAt(tree, ['operations', id, 'auth']))
    if (!data) return null
    const taken: unknown = data.methods ?? valueAt(tree, ['auth', 'methods'])
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
const duplicateClients: ConfigRule = (tree) => {
  const ids = new Set<string>()
  const keys = new Set<string>()
  const claimTexts = new Set<string>()
  const issues: ConfigIssue[] = []
  const checkUnique = (seen: Set<string>, name: string | null, path: () => KeyPath, what: string): void => {
    if (name === null) return
    const details = { message: `a ${what} stands here already`, expected: 'each once', found: 'it twice' }
    if (seen.has(name)) issues.push({ path: path(), ...details, hint: 'rename or remove one of them' })
    seen.add(name)
  }
  for (const [index, client] of listAt(tree, ['clients']).entries()) {
    checkUnique(ids, textAt(client, 'id'), () => ['clients', index, 'id'], 'client of this name')
    checkUnique(
      claimTexts,
      canonicalClaims(valueAt(client, ['claims'])),
      () => ['clients', index, 'claims'],
      'client of these claims',
    )
    for (const [at, key] of listAt(client, ['apiKeys']).entries())
      checkUnique(keys, textAt(key, 'id'), () => ['clients', index, 'apiKeys', at, 'id'], 'key of this id')
  }
  return issues
}

/** Reads a text that nobody has checked; null: it is none. */
function textAt(tree: unknown, key: string): string | null {
  // Of thousands of clients: without a copy of each property, which childAt makes.
  const isMap =
    typeof tree === 'object' && tree !== null && !(tree instanceof ExternalValue) && Object.hasOwn(tree, key)
  const stated = isMap ? (tree as Readonly<Record<string, unknown>>)[key] : undefined
  const text = stated instanceof ExternalValue ? stated.text : stated
  return typeof text === 'string' ? text : null
}

/** Writes claims so that the same ones are the same text; null: there are none, or what stands there is none. */
function canonicalClaims(claims: unknown): string | null {
  if (typeof claims !== 'object' || claims === null || claims instanceof ExternalValue) return null
  const names = Object.keys(claims).sort()
  return names.length === 0 ? null : JSON.stringify(names.map((name) => [name, textAt(claims, name)]))
}

/** Whoever writes down what clients may do believes that it holds. */
const unenforcedClients: ConfigRule = (tree) => {
  const auth = valueAt(tree, ['auth'])
  if (listAt(tree, ['clients']).length === 0) return null
  if (auth !== undefined && authSchema.safeParse(auth).data !== null) return null
  const message = 'this cannot be enforced: nobody is asked who it is'
  const hint = 'add auth: { methods: [apiKey] } at the top level, or remove clients'
  return { path: ['clients'], message, expected: 'auth at the top level', found: 'none', hint }
}

const burstWithoutRate: ConfigRule = (tree) =>
  listAt(tree, ['clients']).map(
    (client, index) =>
      valueAt(client, ['burst']) !== undefined &&
      valueAt(client, ['rate']) === undefined && {
        path: ['clients', index, 'burst'],
        message: 'a burst of no rate',
        expected: 'rate beside it',
        found: 'none',
        hint: 'add rate: 100/s, or remove burst',
      },
  )

/** Checks that what is asked of clients can be asked, that each of them, and each key, is one client's, and that their bounds hold. */
export const authRules: readonly ConfigRule[] = [authSettings, duplicateClients, unenforcedClients, burstWithoutRate]
