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

const credentials = [
  { key: 'apiKeys', by: ['apiKey'], has: ({ apiKeys }: ClientConfig) => apiKeys.length > 0 },
  { key: 'certificates', by: ['mtls'], has: ({ certificates }: ClientConfig) => certificates.length > 0 },
  { key: 'claims', by: ['jwt', 'introspection'], has: ({ claims }: ClientConfig) => Object.keys(claims).length > 0 },
] as const

const unusedSettings: WarningRule = ({ config }) => {
  const { auth, clients } = config
  if (auth === null) return null
  const used = acceptedMethods(config)
  const unused = (by: readonly AuthMethod[], path: KeyPath, why: string, key = path.join('.')): RuleResult =>
    !by.some((name) => used.has(name)) && {
      path,
      message: `this does nothing: ${why}`,
      expected: `${by.join(' or ')} among methods, or no ${key}`,
      found: [...used].join(', '),
      hint: `add ${by[0]} to methods, or remove it`,
    }
  // Tokens of any method may be bound to certificates.
  const readsCertificates = auth.mtls.from === 'connection' || used.has('jwt') || used.has('introspection')
  return [
    ...(['jwt', 'introspection'] as const).map(
      (name) => auth[name] && unused([name], ['auth', name], 'no operation takes these tokens'),
    ),
    readsCertificates ? null : unused(['mtls'], ['auth', 'mtls'], 'no operation reads certificates of clients'),
    ...credentials.map(({ key, by, has }) => {
      const index = clients.findIndex(has)
      const why = 'no operation accepts this credential'
      return index !== -1 && unused(by, ['clients', index, key], why, key)
    }),
  ]
}

/** For example of a truncated file. */
const lockedOut: WarningRule = ({ config }) =>
  config.clients.length === 0 &&
  acceptedMethods(config).size > 0 && {
    path: ['clients'],
    message: 'every client is rejected: auth is required, and clients is empty',
    expected: 'at least one client',
    found: 'none',
    hint: 'add clients: [{ id: …, operations: all }] with a credential each, or remove auth',
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
          message: 'this upstream does not get the client’s id, which auth.identityField adds',
          expected: 'this line only for an upstream that must not know the client',
          found: name,
          hint: 'remove this line unless that is meant',
        },
    )
  return groups.map((group) =>
    statedSides(group, upstreams[group]).map(({ path, stated }) => untold(path, stated.request?.remove)),
  )
}

const acceptedMethods = ({ auth, operations }: Config): ReadonlySet<AuthMethod> =>
  new Set([auth, ...Object.values(operations).map((each) => each.auth)].flatMap((each) => each?.methods ?? []))

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

export const warnings: readonly WarningRule[] = [lockedOut, unusedSettings, untoldUpstreams]
