import { certificateFindings } from '../certificate.ts'
import { isLoopback, reaches } from '../reach.ts'
import { configSchema } from '../schema.ts'
import { type Check, childAt, readAt } from './rule.ts'

const { shape } = configSchema.shape.admin.unwrap()
const listenShape = configSchema.shape.listen.unwrap().shape

/** A listener as far as the file can be read. */
export interface Listener {
  readonly name: 'listen' | 'admin'
  readonly host: string | undefined
  readonly port: number | undefined
}

/** Reads where the public listener is, and where the operator's. */
export const listenersIn = (tree: unknown): readonly [open: Listener, own: Listener] => [
  {
    name: 'listen',
    host: readAt(tree, listenShape.host, ['listen', 'host']),
    port: readAt(tree, listenShape.port, ['listen', 'port']),
  },
  {
    name: 'admin',
    host: readAt(tree, shape.host, ['admin', 'host']),
    port: readAt(tree, shape.port, ['admin', 'port']),
  },
]

/** Port 0 is free by definition: the system chooses it. */
const sameAddress: Check = (tree) => {
  const [open, own] = listenersIn(tree)
  if (open.port === undefined || open.port === 0 || open.port !== own.port) return null
  if (open.host === undefined || own.host === undefined) return null
  return (
    (reaches(open.host, own.host) || reaches(own.host, open.host)) && {
      path: ['admin', 'port'],
      message: 'the admin listener is on the address of the public one',
      expected: 'an address of its own',
      found: 'that of listen',
      hint: 'choose another port: the pages of the operator must not be public',
    }
  )
}

const unguarded: Check = (tree) => {
  const [, { host }] = listenersIn(tree)
  if (host === undefined || isLoopback(host)) return null
  const open = {
    path: ['admin', 'host'],
    message: 'the admin listener would be open to other machines',
    expected: 'a loopback address, or one that is guarded',
    found: 'another address',
  }
  return [
    !hasToken(tree) && { ...open, hint: 'set admin.token: file:/run/secrets/…, made with: openssl rand -hex 32' },
    childAt(tree, ['admin', 'tls']) === undefined &&
      readAt(tree, shape.insecure, ['admin', 'insecure']) !== true && {
        ...open,
        hint: 'set admin.tls, or admin.insecure: true where the network itself is safe',
      },
  ]
}

/** A broken one is told of by itself. */
const hasToken = (tree: unknown): boolean => childAt(tree, ['admin', 'token']) !== undefined

/** A token that opens less stands beside one that opens more, and is another one. */
const metricsToken: Check = (tree) => {
  const own = readAt(tree, shape.metricsToken, ['admin', 'metricsToken'])
  const isAlone = !hasToken(tree)
  if (typeof own !== 'string' || (!isAlone && readAt(tree, shape.token, ['admin', 'token']) !== own)) return null
  return {
    path: ['admin', 'metricsToken'],
    message: isAlone ? 'without admin.token everything is open' : 'this token opens everything',
    expected: 'another token than admin.token, beside it',
    found: isAlone ? 'no admin.token' : 'the same as admin.token',
    hint: 'make each with: openssl rand -hex 32',
  }
}

const pair: Check = (tree) => {
  const tls = readAt(tree, shape.tls, ['admin', 'tls'])
  return tls && certificateFindings(['admin', 'tls'], tls)
}

/** Checks that the operator's listener is for operators alone. */
export const adminChecks: readonly Check[] = [sameAddress, unguarded, metricsToken, pair]
