import { groups } from '../../catalog.ts'
import type { Path } from '../problem.ts'
import { isLoopback, reaches } from '../reach.ts'
import { endpointSchema } from '../schema/upstreams.ts'
import { configSchema } from '../schema.ts'
import { listenersIn } from './admin.ts'
import { type Check, childAt, listAt, readAt } from './rule.ts'

const { allowSandbox, requestId } = configSchema.shape

interface Endpoint {
  readonly path: Path
  readonly origin: string
}

/** Lists the endpoints that can be read, in the short and the long form. */
const endpointsIn = (tree: unknown): readonly Endpoint[] =>
  groups.flatMap((group) => {
    const path: Path = ['upstreams', group]
    const list = childAt(tree, [...path, 'endpoints'])
    const paths = Array.isArray(list) ? list.map((_, index): Path => [...path, 'endpoints', index]) : [path]
    return paths.flatMap((at): readonly Endpoint[] => {
      const endpoint = readAt(tree, endpointSchema, at)
      return endpoint === undefined ? [] : [{ path: at, origin: endpoint.origin }]
    })
  })

const ownListener: Check = (tree) => {
  const listeners = listenersIn(tree)
  return endpointsIn(tree).map(({ path, origin }) => {
    if (origin === 'sandbox') return null
    const url = new URL(origin)
    const target = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    return listeners.map(
      ({ name, host, port }) =>
        host !== undefined &&
        port !== 0 &&
        port === target &&
        reaches(url.hostname, host) && {
          path,
          message: `this is the gateway's own ${name === 'listen' ? 'public' : 'admin'} listener`,
          expected: 'an endpoint elsewhere',
          found: `the address of ${name}`,
          hint: `write the address of the upstream, or change ${name}.port`,
        },
    )
  })
}

const openSandbox: Check = (tree) => {
  const [{ host }] = listenersIn(tree)
  if (host === undefined || isLoopback(host) || readAt(tree, allowSandbox, ['allowSandbox']) !== false) return null
  const echoed = endpointsIn(tree).filter(({ origin }) => origin === 'sandbox')
  const names = [...new Set(echoed.map(({ path }) => String(path[1])))]
  return (
    names.length > 0 && {
      path: ['listen', 'host'],
      message: 'the sandbox would stand behind an address that other machines reach',
      expected: `a loopback address while these are on sandbox: ${names.join(', ')}`,
      found: 'another address',
      hint: 'give them real endpoints, or set allowSandbox: true',
    }
  )
}

/** Checks where the endpoints are. */
export const endpointChecks: readonly Check[] = [ownListener, openSandbox]

/** Checks that no edit of fields is of the one that carries the request id. */
export const editChecks: Check = (tree) => {
  const header = readAt(tree, requestId.unwrap().shape.header, ['requestId', 'header'])
  if (typeof header !== 'string') return null
  const isHeader = (name: unknown): boolean => typeof name === 'string' && name.toLowerCase() === header.toLowerCase()
  const said = {
    message: 'this field carries the request id and is set by the gateway',
    expected: 'another field',
    found: 'the field of requestId.header',
    hint: 'remove this line, or rename requestId.header',
  }
  return groups.flatMap((group) =>
    ['request', 'response'].map((direction) => {
      const path: Path = ['upstreams', group, direction]
      const set = Object.keys(Object(childAt(tree, [...path, 'set']) ?? {}))
      return [
        set.map((name) => isHeader(name) && { path: [...path, 'set', name], atKey: true, ...said }),
        listAt(tree, [...path, 'remove']).map(
          (name, index) => isHeader(name) && { path: [...path, 'remove', index], ...said },
        ),
      ]
    }),
  )
}
