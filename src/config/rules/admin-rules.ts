import { validateKeyPair } from '../certificates.ts'
import { configSchema } from '../config-schema.ts'
import { isLoopbackHost, reachesListener } from '../loopback.ts'
import { type ConfigRule, parseAt, valueAt } from './rule.ts'

const { shape } = configSchema.shape.admin.unwrap()
const listenShape = configSchema.shape.listen.unwrap().shape

/** A listener as far as the file can be read. */
export interface ConfiguredListener {
  readonly name: 'listen' | 'admin'
  readonly host: string | undefined
  readonly port: number | undefined
}

/** Reads where the public listener is, and where the operator's. */
export const configuredListeners = (tree: unknown): readonly [open: ConfiguredListener, own: ConfiguredListener] => [
  {
    name: 'listen',
    host: parseAt(tree, listenShape.host, ['listen', 'host']),
    port: parseAt(tree, listenShape.port, ['listen', 'port']),
  },
  {
    name: 'admin',
    host: parseAt(tree, shape.host, ['admin', 'host']),
    port: parseAt(tree, shape.port, ['admin', 'port']),
  },
]

/** Port 0 is free by definition: the system chooses it. */
const sameAddress: ConfigRule = (tree) => {
  const [publicListener, adminListener] = configuredListeners(tree)
  if (publicListener.port === undefined || publicListener.port === 0 || publicListener.port !== adminListener.port)
    return null
  if (publicListener.host === undefined || adminListener.host === undefined) return null
  return (
    (reachesListener(publicListener.host, adminListener.host) ||
      reachesListener(adminListener.host, publicListener.host)) && {
      path: ['admin', 'port'],
      message: 'the admin listener is on the address of the public one',
      expected: 'an address of its own',
      found: 'that of listen',
      hint: 'choose another port: the pages of the operator must not be public',
    }
  )
}

const unguarded: ConfigRule = (tree) => {
  const [, { host }] = configuredListeners(tree)
  if (host === undefined || isLoopbackHost(host)) return null
  const open = {
    path: ['admin', 'host'],
    message: 'the admin listener would be open to other machines',
    expected: 'a loopback address, or one that is guarded',
    found: 'another address',
  }
  return [
    !hasToken(tree) && { ...open, hint: 'set admin.token: file:/run/secrets/…, made with: openssl rand -hex 32' },
    valueAt(tree, ['admin', 'tls']) === undefined &&
      parseAt(tree, shape.insecure, ['admin', 'insecure']) !== true && {
        ...open,
        hint: 'set admin.tls, or admin.insecure: true where the network itself is safe',
      },
  ]
}

/** A broken one is told of by itself. */
const hasToken = (tree: unknown): boolean => valueAt(tree, ['admin', 'token']) !== undefined

/** A token that opens less stands beside one that opens more, and is another one. */
const metricsToken: ConfigRule = (tree) => {
  const own = parseAt(tree, shape.metricsToken, ['admin', 'metricsToken'])
  const isAlone = !hasToken(tree)
  if (typeof own !== 'string' || (!isAlone && parseAt(tree, shape.token, ['admin', 'token']) !== own)) return null
  return {
    path: ['admin', 'metricsToken'],
    message: isAlone ? 'without admin.token everything is open' : 'this token opens everything',
    expected: 'another token than admin.token, beside it',
    found: isAlone ? 'no admin.token' : 'the same as admin.token',
    hint: 'make each with: openssl rand -hex 32',
  }
}

const tlsKeyPair: ConfigRule = (tree) => {
  const tls = parseAt(tree, shape.tls, ['admin', 'tls'])
  return tls && validateKeyPair(['admin', 'tls'], tls)
}

/** Checks that the operator's listener is for operators alone. */
export const adminRules: readonly ConfigRule[] = [sameAddress, unguarded, metricsToken, tlsKeyPair]
