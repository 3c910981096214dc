import { isLoopbackHost, reachesListener } from '../../lib/net/addresses.ts'
import { validateKeyPair } from '../certificates.ts'
import { coreSchema } from '../core-schema.ts'
import { hasCredential, operatorRules } from './operator-rules.ts'
import { type ConfigRule, parseAt, valueAt } from './rule.ts'

const { shape } = coreSchema.shape.admin.unwrap()
const listenShape = coreSchema.shape.listen.unwrap().shape

/** A listener; an address that cannot be read is undefined. */
interface ConfiguredListener {
  readonly name: 'listen' | 'admin'
  readonly host: string | undefined
  readonly port: number | undefined
}

export const configuredListeners = (
  tree: unknown,
): readonly [listen: ConfiguredListener, admin: ConfiguredListener] => [
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

/** With port 0 the system chooses a free port. */
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
  const details = {
    path: ['admin', 'host'],
    message: 'the admin listener would be open to other machines',
    expected: 'a loopback address, or one that is guarded',
    found: 'another address',
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

export const adminRules: readonly ConfigRule[] = [sameAddress, unguarded, tlsKeyPair, ...operatorRules]
