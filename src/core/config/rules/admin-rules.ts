import { isLoopbackHost, reachesListener } from '../../lib/net/addresses.ts'
import { digestSecret } from '../../lib/secrets.ts'
import { validateIssuers, validateKeyPair } from '../certificates.ts'
import { operatorKeys } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { type ConfigRule, findRepeats, listAt, parseAt, valueAt } from './rule.ts'

const { shape } = coreSchema.shape.admin.unwrap()
const tokenShape = shape.tokens.unwrap().element.shape
const certificateShape = shape.tls.in.unwrap().shape.clientCertificate.in.unwrap().shape
const clientCertificatePath = ['admin', 'tls', 'clientCertificate']

/** A broken credential counts, because it has its own issue. */
const hasCredential = (tree: unknown): boolean =>
  valueAt(tree, ['admin', 'token']) !== undefined ||
  listAt(tree, ['admin', 'tokens']).length > 0 ||
  operatorKeys().some(({ key }) => valueAt(tree, ['admin', key]) !== undefined) ||
  valueAt(tree, clientCertificatePath) !== undefined

const metricsToken: ConfigRule = (tree) => {
  const stated = parseAt(tree, shape.metricsToken, ['admin', 'metricsToken'])
  const isAlone = !hasCredential(tree)
  if (typeof stated !== 'string' || (!isAlone && parseAt(tree, shape.token, ['admin', 'token']) !== stated)) return null
  return {
    path: ['admin', 'metricsToken'],
    message: isAlone
      ? 'admin.metricsToken protects nothing: without admin.token, everything is open'
      : 'this token is also admin.token, so it opens everything',
    expected: 'a token other than admin.token, and admin.token as well',
    found: isAlone ? 'no admin.token' : 'the same as admin.token',
    hint: 'make each token with: openssl rand -hex 32',
  }
}

const duplicateTokens: ConfigRule = (tree) => {
  const places = new Map<string, string>()
  for (const key of ['token', 'metricsToken'] as const) {
    const token = parseAt(tree, shape[key], ['admin', key])
    if (typeof token !== 'string') continue
    places.set(digestSecret(token).toString('hex'), `admin.${key}`)
    places.set(token.toLowerCase(), `admin.${key} itself, and not its hash`)
  }
  return listAt(tree, ['admin', 'tokens']).map((_, index) => {
    const path = ['admin', 'tokens', index, 'hash']
    const hash = parseAt(tree, tokenShape.hash, path)
    const place = hash === undefined ? undefined : places.get(hash)
    if (hash !== undefined) places.set(hash, place ?? `admin.tokens[${index}]`)
    return (
      place !== undefined && {
        path,
        message: 'this token is listed twice',
        expected: 'each token once',
        found: `the token of ${place}`,
        hint: 'make another token with: lender-gateway hash-key --operator NAME',
      }
    )
  })
}

const clientCertificates: ConfigRule = (tree) => {
  const ca = parseAt(tree, certificateShape.ca, [...clientCertificatePath, 'ca'])
  const base = [...clientCertificatePath, 'operators']
  const names = listAt(tree, base).flatMap((_, index) => {
    const path = [...base, index, 'san']
    const name = parseAt(tree, certificateShape.operators.element.shape.san, path)
    return name === undefined ? [] : [{ name, path: () => path }]
  })
  return [
    ca !== undefined && validateIssuers([...clientCertificatePath, 'ca'], ca),
    findRepeats(names, 'this certificate name is listed twice', 'remove one of them'),
  ]
}

const listenShape = coreSchema.shape.listen.unwrap().shape

export const configuredListeners = (tree: unknown) => {
  const listenerAt = <Name extends 'listen' | 'admin'>(
    name: Name,
    { host, port }: typeof listenShape | typeof shape,
  ) => {
    return { name, host: parseAt(tree, host, [name, 'host']), port: parseAt(tree, port, [name, 'port']) }
  }
  return [listenerAt('listen', listenShape), listenerAt('admin', shape)] as const
}

const sameAddress: ConfigRule = (tree) => {
  const [{ host, port }, admin] = configuredListeners(tree)
  if (port === undefined || port === 0 || port !== admin.port) return null
  if (host === undefined || admin.host === undefined) return null
  return (
    (reachesListener(host, admin.host) || reachesListener(admin.host, host)) && {
      path: ['admin', 'port'],
      message: 'the admin listener has the address of the public listener',
      expected: 'an address of its own',
      found: 'the address of listen',
      hint: 'choose another port: the pages of the operator must not be public',
    }
  )
}

const unprotected: ConfigRule = (tree) => {
  const [, { host }] = configuredListeners(tree)
  if (host === undefined || isLoopbackHost(host)) return null
  const details = {
    path: ['admin', 'host'],
    message: 'the admin listener would be open to other machines',
    expected: 'a loopback address, or a listener with tokens and TLS',
    found: 'an address that other machines reach',
  }
  return [
    !hasCredential(tree) && {
      ...details,
      hint: 'set admin.tokens, made with: lender-gateway hash-key --operator NAME, or admin.token: file:/run/secrets/…',
    },
    valueAt(tree, ['admin', 'tls']) === undefined &&
      parseAt(tree, shape.insecure, ['admin', 'insecure']) !== true && {
        ...details,
        hint: 'set admin.tls, or admin.insecure: true where the network itself is safe',
      },
  ]
}

const tlsKeyPair: ConfigRule = (tree) => {
  const tls = parseAt(tree, shape.tls, ['admin', 'tls'])
  return tls && validateKeyPair(['admin', 'tls'], tls)
}

export const adminRules: readonly ConfigRule[] = [
  sameAddress,
  unprotected,
  tlsKeyPair,
  metricsToken,
  duplicateTokens,
  clientCertificates,
]
