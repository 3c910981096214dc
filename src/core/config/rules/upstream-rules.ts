import { groups } from '../../../operations.ts'
import { isLoopbackHost, reachesListener } from '../../lib/net/addresses.ts'
import { asPlainObject } from '../../lib/plain-object.ts'
import { nestedUpstreamKeys } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { type EditDirection, foldEditedName } from '../schema/header-fields.ts'
import { endpointSchema } from '../sections/upstream-target.ts'
import { configuredListeners } from './admin-rules.ts'
import { listOwnFields } from './own-field.ts'
import { type ConfigRule, listAt, parseAt, valueAt } from './rule.ts'

const { allowSandbox } = coreSchema.shape

interface StatedEndpoint {
  readonly path: KeyPath
  readonly origin: string
}

/** Lists where upstreams stand in the file: one in each group, and those that it has beside it. */
const upstreamPaths = (tree: unknown): readonly KeyPath[] =>
  groups.flatMap((group): readonly KeyPath[] => {
    const path: KeyPath = ['upstreams', group]
    const nested = nestedUpstreamKeys().map((key) => [...path, key])
    return [path, ...nested.filter((at) => valueAt(tree, at) !== undefined)]
  })

/** Lists the readable endpoints, in the short and the long form. */
const parseEndpoints = (tree: unknown): readonly StatedEndpoint[] =>
  upstreamPaths(tree).flatMap((path) => {
    const list = valueAt(tree, [...path, 'endpoints'])
    const paths = Array.isArray(list) ? list.map((_, index): KeyPath => [...path, 'endpoints', index]) : [path]
    return paths.flatMap((endpointPath): readonly StatedEndpoint[] => {
      const endpoint = parseAt(tree, endpointSchema, endpointPath)
      return endpoint === undefined ? [] : [{ path: endpointPath, origin: endpoint.origin }]
    })
  })

const loopToGateway: ConfigRule = (tree) => {
  const listeners = configuredListeners(tree)
  return parseEndpoints(tree).map(({ path, origin }) => {
    if (origin === 'sandbox') return null
    const url = new URL(origin)
    const target = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    return listeners.map(
      ({ name, host, port }) =>
        host !== undefined &&
        port !== 0 &&
        port === target &&
        reachesListener(url.hostname, host) && {
          path,
          message: `this is the gateway's own ${name === 'listen' ? 'public' : 'admin'} listener`,
          expected: 'an endpoint elsewhere',
          found: `the address of ${name}`,
          hint: `write the address of the upstream, or change ${name}.port`,
        },
    )
  })
}

const sandboxOnOpenAddress: ConfigRule = (tree) => {
  const [{ host }] = configuredListeners(tree)
  if (host === undefined || isLoopbackHost(host) || parseAt(tree, allowSandbox, ['allowSandbox']) !== false) return null
  const sandboxed = parseEndpoints(tree).filter(({ origin }) => origin === 'sandbox')
  const names = [...new Set(sandboxed.map(({ path }) => String(path[1])))]
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

export const endpointRules: readonly ConfigRule[] = [loopToGateway, sandboxOnOpenAddress]

export const headerMutationRule: ConfigRule = (tree) =>
  listOwnFields(tree).map(({ path: ownPath, name: own, says, isInResponses, isRemovable }) => {
    if (says === undefined) return null
    const key = formatKeyPath(ownPath)
    const details = {
      message: `this field ${says} and is set by the gateway`,
      expected: 'another field',
      found: `the field of ${key}`,
      hint: `remove this line, or rename ${key}`,
    }
    const directions: readonly EditDirection[] = isInResponses ? ['request', 'response'] : ['request']
    return directions.map((direction) => {
      const isOwn = (name: unknown): boolean =>
        typeof name === 'string' && foldEditedName(name, direction) === foldEditedName(own, direction)
      return upstreamPaths(tree).map((upstream) => {
        const path: KeyPath = [...upstream, direction]
        const set = Object.keys(asPlainObject(valueAt(tree, [...path, 'set'])))
        return [
          set.map((name) => isOwn(name) && { path: [...path, 'set', name], atKey: true, ...details }),
          listAt(tree, [...path, 'remove']).map(
            (name, index) => !isRemovable && isOwn(name) && { path: [...path, 'remove', index], ...details },
          ),
        ]
      })
    })
  })
