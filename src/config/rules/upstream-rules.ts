import { type Group, groups } from '../../operations.ts'
import { configSchema, type ParsedConfig } from '../config-schema.ts'
import { isLoopbackHost, reachesListener } from '../loopback.ts'
import type { KeyPath } from '../problem.ts'
import { endpointSchema } from '../sections/upstreams.ts'
import { configuredListeners } from './admin-rules.ts'
import { type ConfigRule, listAt, parseAt, valueAt, type WarningRule } from './rule.ts'

const { allowSandbox, requestId } = configSchema.shape

interface Endpoint {
  readonly path: KeyPath
  readonly origin: string
}

/** Lists the endpoints that can be read, in the short and the long form. */
const parseEndpoints = (tree: unknown): readonly Endpoint[] =>
  groups.flatMap((group) => {
    const path: KeyPath = ['upstreams', group]
    const list = valueAt(tree, [...path, 'endpoints'])
    const paths = Array.isArray(list) ? list.map((_, index): KeyPath => [...path, 'endpoints', index]) : [path]
    return paths.flatMap((at): readonly Endpoint[] => {
      const endpoint = parseAt(tree, endpointSchema, at)
      return endpoint === undefined ? [] : [{ path: at, origin: endpoint.origin }]
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

/** Checks where the endpoints are. */
export const endpointRules: readonly ConfigRule[] = [loopToGateway, sandboxOnOpenAddress]

/** Checks that no edit of fields is of the one that carries the request id. */
export const headerMutationRule: ConfigRule = (tree) => {
  const header = parseAt(tree, requestId.unwrap().shape.header, ['requestId', 'header'])
  if (typeof header !== 'string') return null
  const isHeader = (name: unknown): boolean => typeof name === 'string' && name.toLowerCase() === header.toLowerCase()
  const details = {
    message: 'this field carries the request id and is set by the gateway',
    expected: 'another field',
    found: 'the field of requestId.header',
    hint: 'remove this line, or rename requestId.header',
  }
  return groups.flatMap((group) =>
    ['request', 'response'].map((direction) => {
      const path: KeyPath = ['upstreams', group, direction]
      const set = Object.keys(Object(valueAt(tree, [...path, 'set']) ?? {}))
      return [
        set.map((name) => isHeader(name) && { path: [...path, 'set', name], atKey: true, ...details }),
        listAt(tree, [...path, 'remove']).map(
          (name, index) => isHeader(name) && { path: [...path, 'remove', index], ...details },
        ),
      ]
    }),
  )
}

const exposedSandbox: WarningRule = ({ parsed: { allowSandbox, listen, upstreams } }) => {
  const sandboxed = groups.filter((group) => upstreams[group].endpoints.some(({ origin }) => origin === 'sandbox'))
  return (
    allowSandbox &&
    !isLoopbackHost(listen.host) &&
    sandboxed.length > 0 && {
      path: ['allowSandbox'],
      message: 'THE SANDBOX ANSWERS OTHER MACHINES: it echoes what it is sent, and is no service',
      expected: 'real endpoints behind every group',
      found: `the sandbox behind ${sandboxed.join(', ')}`,
      hint: 'write the URLs of the services under upstreams, and remove allowSandbox',
    }
  )
}

const duplicateEndpoints: WarningRule = ({ parsed: { upstreams } }) =>
  groups.map((group) => {
    const urls = upstreams[group].endpoints.map(({ origin, pathPrefix }) => `${origin}${pathPrefix}`)
    return urls.map(
      (url, index) =>
        urls.indexOf(url) < index && {
          path: ['upstreams', group, 'endpoints', index],
          message: 'an endpoint that stands here already',
          expected: 'each once',
          found: 'it twice',
          hint: 'keep one, and give it the weight of both',
        },
    )
  })

/** Says which level states a key with a value that was not meant for long, and for which groups. */
const statingLevels = (
  parsed: ParsedConfig,
  key: 'verify' | 'insecure',
  which: readonly Group[],
): readonly { readonly path: KeyPath; readonly behind: readonly Group[] }[] => {
  const own = which.filter((group) => parsed.upstreams[group].tls?.[key] !== undefined)
  const inherited = which.filter((group) => !own.includes(group))
  return [
    ...(inherited.length === 0 ? [] : [{ path: ['defaults', 'tls', key], behind: inherited }]),
    ...own.map((group) => ({ path: ['upstreams', group, 'tls', key], behind: [group] })),
  ]
}

/** Who is believed unverified is told on every load. */
const unverifiedTls: WarningRule = ({ parsed, config: { upstreams } }) => {
  const unverifiedGroups = groups.filter((group) => !upstreams[group].tls.verify)
  const reached = (behind: readonly Group[]): string => behind.filter((group) => hasTls(parsed, group)).join(', ')
  return statingLevels(parsed, 'verify', unverifiedGroups).map(({ path, behind }) => ({
    path,
    message:
      'WHOEVER ANSWERS IS BELIEVED: no certificate is verified, and what is sent can be read and changed on the way',
    expected: 'true',
    found: reached(behind) === '' ? 'false' : `false for ${reached(behind)}`,
    hint: 'trust a certificate of your own with ca: file:PATH, another name with serverName; then remove verify and insecure',
  }))
}

const unusedInsecure: WarningRule = ({ parsed, config: { upstreams } }) => {
  const insecureGroups = groups.filter((group) => parsed.upstreams[group].tls?.insecure ?? parsed.defaults.tls.insecure)
  return statingLevels(parsed, 'insecure', insecureGroups).map(
    ({ path, behind }) =>
      behind.every((group) => upstreams[group].tls.verify) && {
        path,
        message: 'this does nothing by itself: certificates are verified',
        expected: 'false, or verify: false beside it',
        found: 'true',
        hint: 'remove this line',
      },
  )
}

const unusedTls: WarningRule = ({ parsed }) =>
  groups.map(
    (group) =>
      parsed.upstreams[group].tls !== undefined &&
      !hasTls(parsed, group) && {
        path: ['upstreams', group, 'tls'],
        message: 'this does nothing: no endpoint of the group is spoken to over TLS',
        expected: 'an endpoint with https://',
        found: 'none',
        hint: 'write https:// in front of the endpoints, or remove tls',
      },
  )

const hasTls = ({ upstreams }: ParsedConfig, group: Group): boolean =>
  upstreams[group].endpoints.some(({ origin }) => origin.startsWith('https:'))

/** Lists what is doubtful about endpoints, and how they are spoken to. */
export const upstreamWarnings: readonly WarningRule[] = [
  exposedSandbox,
  duplicateEndpoints,
  unverifiedTls,
  unusedInsecure,
  unusedTls,
]
