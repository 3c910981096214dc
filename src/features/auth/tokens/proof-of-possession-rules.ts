import { validateIssuers } from '../../../core/config/certificates.ts'
import type { KeyPath } from '../../../core/config/problem.ts'
import {
  type ConfigRule,
  findRepeats,
  isEnabledAt,
  listAt,
  parseAt,
  type RuleResult,
  type UniqueEntry,
  valueAt,
} from '../../../core/config/rules/rule.ts'
import { parseCertificateName } from '../../../core/config/schema/credentials.ts'
import { listenTlsSchema } from '../../../core/config/sections/listen.ts'
import { authMethodLists, authSchema, isTokenMethod, mtlsSchema } from '../config.ts'

const base: KeyPath = ['auth', 'mtls']

export const mtlsRule: ConfigRule = (tree) => {
  const names = certificateNames(tree)
  const repeats = findRepeats(names, 'a second entry with this certificate', 'remove one of them')
  const stated = parseAt(tree, mtlsSchema.prefault({}), base)
  if (stated === undefined) return repeats
  const { ca, from } = stated
  return [
    repeats,
    ca !== null && validateIssuers([...base, 'ca'], ca),
    from === 'client-cert' && untrustedClientCert(tree),
    from === 'client-cert' && ca === null && namesWithoutCa(names),
    from === 'connection' &&
      ca !== null &&
      valueAt(tree, [...base, 'ca']) !== undefined && {
        path: [...base, 'ca'],
        message: 'ca does nothing here: listen.tls.clientCa verifies certificates of connections',
        expected: 'from: client-cert beside it',
        found: 'from: connection',
        hint: 'add from: client-cert, or remove ca',
      },
    from === 'connection' && !requestsClientCertificates(tree) && unusableMtls(tree),
  ]
}

const unusableMtls: ConfigRule = (tree) =>
  authMethodLists(tree).map(
    ({ path, names }) =>
      names.includes('mtls') && {
        path: [...path, names.indexOf('mtls')],
        message: 'this does nothing: no client is asked for a certificate',
        expected: 'listen.tls.clientCertificates: optional or required',
        found: 'none',
        hint: 'set listen.tls.clientCertificates and clientCa, or auth.mtls.from: client-cert behind a proxy',
      },
  )

const untrustedClientCert: ConfigRule = (tree) => {
  const proxies = valueAt(tree, ['listen', 'trustedProxies'])
  if (proxies !== undefined && !(Array.isArray(proxies) && proxies.length === 0)) return null
  const message = 'listen.trustedProxies is empty, so Client-Cert is ignored'
  const expected = 'the addresses of the proxies in listen.trustedProxies'
  const hint = 'add trustedProxies under listen, or write from: connection'
  return { path: [...base, 'from'], message, expected, found: 'no trustedProxies', hint }
}

/** Reads names without the schema, which takes too long for thousands of clients. */
const certificateNames = (tree: unknown): readonly UniqueEntry[] =>
  listAt(tree, ['clients']).flatMap((client, nth) =>
    listAt(client, ['certificates']).flatMap((text, index): readonly UniqueEntry[] => {
      const name = typeof text === 'string' ? parseCertificateName(text) : null
      return typeof name === 'string' ? [{ name, path: () => ['clients', nth, 'certificates', index] }] : []
    }),
  )

/** A name needs an authority that vouches for it: an attacker can put any name into a certificate. */
const namesWithoutCa = (names: readonly UniqueEntry[]): RuleResult =>
  names.map(
    ({ name, path }) =>
      !name.startsWith('sha256:') && {
        path: path(),
        message: 'without an authority, anybody could issue a certificate with this name',
        expected: 'auth.mtls.ca, or sha256: and the fingerprint of the certificate',
        found: 'a name, and no auth.mtls.ca',
        hint: 'add ca: file:PATH under auth.mtls, the authorities that issue certificates of clients',
      },
  )

/** Clients must be able to prove possession where tokens must be bound, and settings of proofs must have an effect. */
export const senderConstraintRule: ConfigRule = (tree) => {
  const auth = parseAt(tree, authSchema, ['auth'])
  if (!auth) return null
  const { dpop } = auth
  const takesTokens = authMethodLists(tree).some(({ names }) => names.some(isTokenMethod))
  const isRequired = auth.bound === 'required'
  const hasCertificates = auth.mtls.from === 'client-cert' || requestsClientCertificates(tree)
  return [
    isRequired && !takesTokens && bindingWithoutTokens('bound'),
    dpop !== null && !takesTokens && bindingWithoutTokens('dpop'),
    isRequired &&
      takesTokens &&
      dpop === null &&
      !hasCertificates && {
        path: ['auth', 'bound'],
        message: 'no client can prove possession of a bound token: neither certificates nor DPoP proofs are accepted',
        expected: 'auth.dpop, or listen.tls.clientCertificates: optional or required',
        found: 'required, and neither',
        hint: 'add dpop: { maxAge: 60s } under auth, or have clients asked for certificates',
      },
    dpop !== null &&
      valueAt(tree, ['listen', 'publicUrl']) === undefined && {
        path: ['auth', 'dpop'],
        message: 'listen.publicUrl is missing, so the URL in a proof cannot be checked',
        expected: 'listen.publicUrl: {base_url} as clients write it',
        found: 'no listen.publicUrl',
        hint: 'add publicUrl: https://… under listen',
      },
    dpop !== null &&
      valueAt(tree, ['auth', 'dpop', 'withoutRedis']) !== undefined &&
      !isEnabledAt(tree, ['limits', 'redis']) && {
        path: ['auth', 'dpop', 'withoutRedis'],
        message: 'limits.redis is missing, so this does nothing',
        expected: 'limits.redis',
        found: `${dpop.withoutRedis}, and no limits.redis`,
        hint: 'add redis: { url: … } under limits, or remove this line',
      },
  ]
}

const bindingWithoutTokens = (key: 'bound' | 'dpop'): RuleResult => ({
  path: ['auth', key],
  message: 'only tokens can be bound, and no method accepts tokens',
  expected: 'jwt or introspection among the methods',
  found: 'neither',
  hint: `add jwt to auth.methods, or remove ${key}`,
})

/** An invalid value counts as true: it has its own issue. */
const requestsClientCertificates = (tree: unknown): boolean =>
  valueAt(tree, ['listen', 'tls']) !== undefined &&
  parseAt(tree, listenTlsSchema.shape.clientCertificates, ['listen', 'tls', 'clientCertificates']) !== 'none'
