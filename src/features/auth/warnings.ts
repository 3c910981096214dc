import { certificateFields } from '../../core/config/certificates.ts'
import type { Config } from '../../core/config/config.ts'
import type { ConfigPart } from '../../core/config/config-part.ts'
import type { KeyPath } from '../../core/config/problem.ts'
import type { RuleResult, WarningRule } from '../../core/config/rules/rule.ts'
import { statedSides } from '../../core/config/warnings/upstream-warnings.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import { groups } from '../../operations.ts'
import type { ClientConfig } from './clients/config.ts'

const unusedTokens: WarningRule = ({ config }) => {
  const used = acceptedMethods(config)
  return (['jwt', 'introspection'] as const).map(
    (name) =>
      config.auth?.[name] &&
      !used.has(name) && {
        path: ['auth', name],
        message: 'this does nothing: no operation takes these tokens',
        expected: `${name} among methods, or no auth.${name}`,
        found: [...used].join(', '),
        hint: `add ${name} to methods, or remove it`,
      },
  )
}

/** Tokens may be bound to certificates, also without mtls among the methods. */
const unusedCertificates: WarningRule = ({ config }) => {
  const used = acceptedMethods(config)
  return (
    config.auth?.mtls.from === 'client-cert' &&
    !(['mtls', 'jwt', 'introspection'] as const).some((name) => used.has(name)) && {
      path: ['auth', 'mtls'],
      message: 'this does nothing: nobody looks at certificates of clients',
      expected: 'mtls among methods, or no auth.mtls',
      found: [...used].join(', '),
      hint: 'add mtls to methods, or remove it',
    }
  )
}

const credentials = [
  { key: 'apiKeys', by: ['apiKey'], has: ({ apiKeys }: ClientConfig) => apiKeys.length > 0 },
  { key: 'certificates', by: ['mtls'], has: ({ certificates }: ClientConfig) => certificates.length > 0 },
  { key: 'claims', by: ['jwt', 'introspection'], has: ({ claims }: ClientConfig) => Object.keys(claims).length > 0 },
] as const

const unusedCredentials: WarningRule = ({ config }) => {
  if (config.auth === null) return null
  const used = acceptedMethods(config)
  return credentials.map(({ key, by, has }) => {
    const index = by.some((name) => used.has(name)) ? -1 : config.clients.findIndex(has)
    return (
      index !== -1 && {
        path: ['clients', index, key],
        message: 'this does nothing: no operation asks for it, here or of any other client',
        expected: `${by.join(' or ')} among methods, or no ${key}`,
        found: [...used].join(', '),
        hint: `add ${by[0]} to methods, or remove it`,
      }
    )
  })
}

/** An empty list, of a truncated file say, locks all clients out. */
const lockedOut: WarningRule = ({ config }) =>
  config.clients.length === 0 &&
  acceptedMethods(config).size > 0 && {
    path: ['clients'],
    message: 'nobody gets in: clients have to say who they are, and none is known',
    expected: 'at least one client',
    found: 'none',
    hint: 'add clients: [{ id: …, operations: all }] with what each proves itself by, or remove auth',
  }

const untoldUpstreams: WarningRule = ({ parsed: { auth, upstreams } }) => {
  const field = auth?.identityField ?? null
  if (field === null) return null
  const isField = (name: string): boolean => foldUnderscores(name) === foldUnderscores(field)
  const untold = (path: KeyPath, remove: readonly string[] = []): RuleResult =>
    remove.map(
      (name, index) =>
        isField(name) && {
          path: [...path, 'request', 'remove', index],
          message: 'this upstream is not told whose a request is, as auth.identityField says',
          expected: 'this line where it may not know, and nowhere else',
          found: name,
          hint: 'remove this line unless that is meant',
        },
    )
  return groups.map((group) =>
    statedSides(group, upstreams[group]).map(({ path, stated }) => untold(path, stated.request?.remove)),
  )
}

const acceptedMethods = ({ auth, operations }: Config): ReadonlySet<AuthMethod> =>
  new Set(
    [auth, ...Object.values(operations).map((operation) => operation.auth)].flatMap((each) => each?.methods ?? []),
  )

export const usesRedis: Required<ConfigPart>['usesRedis'] = ({ auth }, purpose) =>
  purpose === 'counts' && Boolean(auth?.dpop)

export const removedFields: Required<ConfigPart>['removedFields'] = ({ auth, operations }, id) => {
  if (auth === null) return []
  const own = operations[id].auth
  if (own === null) return [auth.identityField].filter((each) => each !== null)
  const ofTokens = ['authorization', 'dpop']
  return auth.credentials === 'forward'
    ? []
    : own.methods.flatMap((method) =>
        method === 'apiKey'
          ? [auth.apiKey.field]
          : [...(method === 'mtls' ? [] : ofTokens), ...certificateFields(auth.mtls)],
      )
}

export const warnings: readonly WarningRule[] = [
  lockedOut,
  unusedTokens,
  unusedCertificates,
  unusedCredentials,
  untoldUpstreams,
]
