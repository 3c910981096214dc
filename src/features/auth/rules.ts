import type { ListOwnFields } from '../../core/config/config-part.ts'
import { type ConfigIssue, formatKeyPath, type KeyPath } from '../../core/config/problem.ts'
import {
  type ConfigRule,
  findUnmetNeeds,
  isEnabledAt,
  listAt,
  parseAt,
  type RuleResult,
  valueAt,
} from '../../core/config/rules/rule.ts'
import { findField, listOwnFields } from '../../core/config/rules/upstream-rules.ts'
import { allOperations } from '../../operations.ts'
import { clientNeeds } from './clients/config.ts'
import {
  authMethodLists,
  authMethodsSchema,
  authSchema,
  isTokenMethod,
  type JwtConfig,
  operationAuthSchema,
} from './config.ts'
import { operatorJwtSchema } from './config-tokens.ts'
import { parseJwkSet } from './tokens/jwk-set.ts'
import { mtlsRule, senderConstraintRule } from './tokens/proof-of-possession-rules.ts'

const authSettings: ConfigRule = (tree) => {
  if (!isEnabledAt(tree, ['auth'])) return allOperations.map(({ id }) => unprovableAuth(tree, id))
  const auth = parseAt(tree, authSchema, ['auth'])
  return [
    auth && conflictingFields(tree),
    tokenMethods(tree),
    auth?.jwt && unusableAlgorithms(['auth', 'jwt'], auth.jwt),
    scopesWithoutToken(tree),
  ]
}

const unprovableAuth = (tree: unknown, id: string): RuleResult => {
  const path: KeyPath = ['operations', id, 'auth']
  if (!isEnabledAt(tree, path)) return null
  const message = 'auth is missing, so clients cannot authenticate'
  const hint = 'add auth: { methods: [apiKey] } at the top level'
  return { path, message, expected: 'auth at the top level', found: 'none', hint }
}

/**
 * Rejects two uses of one field (`-` and `_` alike): a client that sets its request id could otherwise set its
 * identity.
 */
const conflictingFields = (tree: unknown): RuleResult => {
  const fields = listOwnFields(tree)
  const expected = 'a field of its own'
  return fields.map(({ path, name }, index) => {
    const found = findField(fields.slice(0, index), name)?.name
    const message = 'this field is already used by another setting'
    return found !== undefined && { path, message, expected, found, hint: 'choose another name' }
  })
}

const tokenMethods: ConfigRule = (tree) =>
  authMethodLists(tree).map(({ path, names }) =>
    names.map(
      (name, index) =>
        isTokenMethod(name) && [
          valueAt(tree, ['auth', name]) === undefined && {
            path: [...path, index],
            message: `auth.${name} is missing, so no token can be verified`,
            expected: `auth.${name} at the top level`,
            found: 'none',
            hint: methodHints[name],
          },
          name === 'jwt' &&
            names.slice(0, index).includes('introspection') && {
              path: [...path, index],
              message: 'jwt gets no token, because introspection comes first and takes all',
              expected: 'jwt before introspection',
              found: 'jwt after introspection',
              hint: 'write jwt first: it leaves other tokens to introspection',
            },
        ],
    ),
  )

const methodHints = {
  jwt: 'add jwt: { issuer: …, audience: […], jwks: https://… } under auth',
  introspection: 'add introspection: { url: https://…, clientId: …, clientSecret: file:… } under auth',
}

/** Without a key that fits an allowed algorithm, every token is rejected. */
const unusableAlgorithms = (path: KeyPath, { jwks, algorithms }: Pick<JwtConfig, 'jwks' | 'algorithms'>) => {
  if (!('text' in jwks)) return null
  const keys = parseJwkSet(jwks.text, null)
  return (
    algorithms.every((algorithm) => keys.find(algorithm, null).length === 0) && {
      path: [...path, 'algorithms'],
      message: `no key of ${formatKeyPath([...path, 'jwks'])} fits one of these, so every token is rejected`,
      expected: 'an algorithm that the issuer signs with',
      found: algorithms.join(', '),
      hint: 'see alg and kty of its keys',
    }
  )
}

const scopesWithoutToken: ConfigRule = (tree) =>
  allOperations.map(({ id }) => {
    const auth = parseAt(tree, operationAuthSchema, ['operations', id, 'auth'])
    if (!auth) return null
    const methods = auth.methods ?? parseAt(tree, authMethodsSchema, ['auth', 'methods'])
    if (!methods?.some((name) => !isTokenMethod(name))) return null
    return (['scopes', 'claims'] as const).map(
      (key) =>
        Object.keys(auth[key]).length > 0 && {
          path: ['operations', id, 'auth', key],
          message: `only tokens have ${key}: clients with other credentials could not call this operation`,
          expected: 'only methods for tokens',
          found: methods.join(', '),
          hint: `add methods: [jwt] beside ${key}, or remove ${key}`,
        },
    )
  })

const duplicateClients: ConfigRule = (tree) => {
  const ids = new Set<string>()
  const keys = new Set<string>()
  const claimTexts = new Set<string>()
  const issues: ConfigIssue[] = []
  const checkUnique = (seen: Set<string>, name: string | null, path: () => KeyPath, what: string): void => {
    if (name === null) return
    const details = { message: `a second ${what}`, expected: 'each once', found: 'a duplicate' }
    if (seen.has(name)) issues.push({ path: path(), ...details, hint: 'rename or remove one of them' })
    seen.add(name)
  }
  for (const [index, client] of listAt(tree, ['clients']).entries()) {
    checkUnique(ids, textAt(client, 'id'), () => ['clients', index, 'id'], 'client with this id')
    checkUnique(
      claimTexts,
      canonicalClaims(valueAt(client, ['claims'])),
      () => ['clients', index, 'claims'],
      'client with these claims',
    )
    for (const [at, key] of listAt(client, ['apiKeys']).entries())
      checkUnique(keys, textAt(key, 'id'), () => ['clients', index, 'apiKeys', at, 'id'], 'key with this id')
  }
  return issues
}

function textAt(tree: unknown, key: string): string | null {
  const text = valueAt(tree, [key])
  return typeof text === 'string' ? text : null
}

function canonicalClaims(claims: unknown): string | null {
  if (typeof claims !== 'object' || claims === null) return null
  const names = Object.keys(claims).sort()
  return names.length === 0 ? null : JSON.stringify(names.map((name) => [name, textAt(claims, name)]))
}

const unenforcedClients: ConfigRule = (tree) => {
  if (listAt(tree, ['clients']).length === 0 || isEnabledAt(tree, ['auth'])) return null
  const message = 'this cannot be enforced: without auth, clients are not identified'
  const hint = 'add auth: { methods: [apiKey] } at the top level, or remove clients'
  return { path: ['clients'], message, expected: 'auth at the top level', found: 'none', hint }
}

const burstWithoutRate: ConfigRule = (tree) =>
  listAt(tree, ['clients']).map((_, index) => findUnmetNeeds(tree, ['clients', index], clientNeeds))

export const ownFields: ListOwnFields = (tree) => {
  const auth = parseAt(tree, authSchema, ['auth'])
  if (!auth) return []
  const takesTokens = authMethodLists(tree).some(({ names }) => names.some(isTokenMethod))
  const isClientCert = auth.mtls.from === 'client-cert'
  const fixed: readonly (readonly [KeyPath, string | false])[] = [
    [['auth', 'methods'], takesTokens && 'Authorization'],
    [['auth', 'dpop'], auth.dpop !== null && 'DPoP'],
    [['auth', 'mtls', 'from'], isClientCert && 'Client-Cert'],
    [['auth', 'mtls', 'from'], isClientCert && 'Client-Cert-Chain'],
  ]
  const { apiKey, identityField } = auth
  const identity = { path: ['auth', 'identityField'], says: 'tells upstreams the client', isRemovable: true } as const
  return [
    ...fixed.flatMap(([path, name]) => (name === false ? [] : [{ path, name, isFixed: true as const }])),
    { path: ['auth', 'apiKey', 'field'], name: apiKey.field },
    // Removable: an upstream may be denied the client's id, with a warning.
    ...(identityField === null ? [] : [{ ...identity, name: identityField }]),
  ]
}

/** Requires usable keys, and an audience unlike that of clients' tokens: one issuer may issue both. */
const operatorJwt: ConfigRule = (tree) => {
  const stated = parseAt(tree, operatorJwtSchema.optional(), ['admin', 'jwt'])
  if (!stated) return null
  const auth = parseAt(tree, authSchema, ['auth'])
  const shared = (['jwt', 'introspection'] as const).find((name) => {
    const { issuer = null, audience } = auth?.[name] ?? {}
    return (issuer === null || issuer === stated.issuer) && audience?.some((each) => stated.audience.includes(each))
  })
  return [
    unusableAlgorithms(['admin', 'jwt'], stated),
    shared && {
      path: ['admin', 'jwt', 'audience'],
      message: 'the admin listener would accept a client’s token',
      expected: 'an audience of its own',
      found: `one of auth.${shared}.audience`,
      hint: 'have the issuer issue operators’ tokens for another audience',
    },
  ]
}

export const rules: readonly ConfigRule[] = [
  authSettings,
  duplicateClients,
  unenforcedClients,
  burstWithoutRate,
  mtlsRule,
  senderConstraintRule,
  operatorJwt,
]
