import type * as z from 'zod'
import { groups } from '../../../operations.ts'
import { foldUnderscores } from '../../exchange/header-fields.ts'
import { isLoopbackHost, reachesListener } from '../../lib/net/addresses.ts'
import { asPlainObject, isPlainObject } from '../../lib/plain-object.ts'
import { validateCaBundle, validateKeyPair } from '../certificates.ts'
import { configParts, nestedUpstreamKeys, type OwnField } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { type EditDirection, foldEditedName } from '../schema/header-fields.ts'
import { healthCheckSchema, upstreamTlsSchema } from '../sections/upstream-defaults.ts'
import { endpointSchema } from '../sections/upstreams.ts'
import { configuredListeners } from './admin-rules.ts'
import { applyRules, type ConfigRule, listAt, parseAt, type RuleResult, valueAt } from './rule.ts'

const { allowSandbox } = coreSchema.shape

const upstreamPaths = (tree: unknown): readonly KeyPath[] =>
  groups.flatMap((group): readonly KeyPath[] => {
    const path: KeyPath = ['upstreams', group]
    const nested = nestedUpstreamKeys().map((key) => [...path, key])
    return [path, ...nested.filter((at) => valueAt(tree, at) !== undefined)]
  })

const parseEndpoints = (tree: unknown) =>
  upstreamPaths(tree).flatMap((upstream) => {
    const list = valueAt(tree, [...upstream, 'endpoints'])
    const paths = Array.isArray(list) ? list.map((_, index): KeyPath => [...upstream, 'endpoints', index]) : [upstream]
    return paths.flatMap((path) => {
      const endpoint = parseAt(tree, endpointSchema, path)
      return endpoint === undefined ? [] : [{ path, origin: endpoint.origin }]
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
      message: 'other machines could reach the sandbox',
      expected: `a loopback address while these groups use the sandbox: ${names.join(', ')}`,
      found: 'an address that other machines reach',
      hint: 'give them real endpoints, or set allowSandbox: true',
    }
  )
}

export const endpointRules: readonly ConfigRule[] = [loopToGateway, sandboxOnOpenAddress]

const requestIdField = coreSchema.shape.requestId.unwrap().shape.header

export const listOwnFields = (tree: unknown): readonly OwnField[] => {
  const ofFeatures = configParts.flatMap((part) => part.ownFields?.(tree) ?? [])
  const path = ['requestId', 'header']
  const name = parseAt(tree, requestIdField, path)
  const says = 'carries the request id'
  return [
    ...ofFeatures.filter(({ isFixed }) => isFixed),
    ...(name == null ? [] : [{ path, name, says, isInResponses: true as const }]),
    ...ofFeatures.filter(({ isFixed }) => !isFixed),
  ]
}

/** `_` equals `-`, as in CGI-like back ends. */
export const findField = (fields: readonly OwnField[], name: string): OwnField | undefined => {
  const folded = foldUnderscores(name)
  return fields.find((field) => foldUnderscores(field.name) === folded)
}

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

/**
 * Applies rules to the merged policies of each upstream: one half may be in the candidate, the other in its group or
 * `defaults`. Skips broken values, and reports an inherited issue once.
 */
const ofEachUpstream =
  (rules: readonly PolicyRule[], nestedKeys: readonly string[] = []): ConfigRule =>
  (tree) => {
    const issues = groups.flatMap((group) => {
      const path: KeyPath = ['upstreams', group]
      const nested = nestedKeys.map((key): KeyPath => [...path, key]).filter((at) => isPlainObject(valueAt(tree, at)))
      return [[path], ...nested.map((at) => [at, path])].flatMap((bases) =>
        applyRules(rules, getLevels(tree, ...bases, defaults)),
      )
    })
    return [...new Map(issues.map((issue) => [`${formatKeyPath(issue.path)}: ${issue.message}`, issue])).values()]
  }

interface StatedKey<T> {
  readonly value: T | undefined
  readonly path: KeyPath
  readonly stated: boolean
}

const defaults: KeyPath = ['defaults']

const getLevels = (tree: unknown, ...bases: readonly KeyPath[]) => {
  const first = (key: KeyPath): KeyPath | undefined => {
    for (const base of bases) {
      const path = [...base, ...key]
      if (valueAt(tree, path) !== undefined) return path
      // A level that turns the whole policy off hides the levels below.
      const policy = valueAt(tree, [...base, ...key.slice(0, 1)])
      if (policy !== undefined && !isPlainObject(policy)) return undefined
    }
    return undefined
  }
  return {
    read: <T>(schema: z.ZodType<T>, ...key: KeyPath): StatedKey<T> => {
      const path = first(key)
      const value = path === undefined ? schema.safeParse(undefined).data : parseAt(tree, schema, path)
      return { value, path: path ?? ['defaults', ...key], stated: path !== undefined }
    },
    enabledAt: (policy: string): KeyPath | null => {
      const path = first([policy])
      return path !== undefined && isPlainObject(valueAt(tree, path)) ? path : null
    },
  }
}

export type PolicyRule = (levels: ReturnType<typeof getLevels>) => RuleResult

const { path: probedPath } = healthCheckSchema.shape
const { verify, insecure, ca, certificate, key } = upstreamTlsSchema.shape

const healthPath: PolicyRule = ({ enabledAt, read }) => {
  const at = enabledAt('healthCheck')
  if (at === null || read(probedPath, 'healthCheck', 'path').stated) return null
  const isGroup = at[0] === 'upstreams'
  return {
    path: [...at, 'path'],
    message: 'a health check without a path',
    expected: isGroup ? 'a path here or in defaults' : 'a path here, or in every group that does not turn it off',
    found: 'none',
    hint: 'add a path that responds with 2xx while the service is well, such as path: /healthz',
  }
}

const unverifiedTls: PolicyRule = ({ read }) => {
  const { value, path } = read(verify, 'tls', 'verify')
  return (
    value === false &&
    read(insecure, 'tls', 'insecure').value === false && {
      path,
      message: 'the gateway would trust any server that responds, and send it the requests for the upstream',
      expected: 'true, or insecure: true beside it',
      found: 'false',
      hint: 'trust a certificate of your own with ca: file:PATH, another name with serverName; or add insecure: true',
    }
  )
}

const caBundle: PolicyRule = ({ read }) => {
  const { value, path } = read(ca, 'tls', 'ca')
  return typeof value === 'string' && validateCaBundle(path, value)
}

const keyPair: PolicyRule = ({ read }) => {
  const statedCertificate = read(certificate, 'tls', 'certificate')
  const statedKey = read(key, 'tls', 'key')
  const paths: Readonly<Record<string, KeyPath>> = { certificate: statedCertificate.path, key: statedKey.path }
  if (typeof statedCertificate.value === 'string' && typeof statedKey.value === 'string') {
    const both = { certificate: statedCertificate.value, key: statedKey.value }
    // The certificate and the key may be stated at different levels.
    return validateKeyPair([], both).map((issue) => ({ ...issue, path: paths[String(issue.path[0])] ?? [] }))
  }
  if (typeof statedCertificate.value === 'string') return halfPair('certificate', statedCertificate, 'key', statedKey)
  return typeof statedKey.value === 'string' && halfPair('key', statedKey, 'certificate', statedCertificate)
}

/** A broken half has its own issue. */
const halfPair = (name: string, { path }: StatedKey<unknown>, other: string, missing: StatedKey<unknown>) => {
  if (missing.stated && missing.value !== null) return null
  const details = { message: `a ${name} without its ${other}`, expected: 'both or neither' }
  return missing.stated
    ? { path: missing.path, ...details, found: 'none', hint: `write ${name}: none as well, or ${other}: file:PATH` }
    : { path, ...details, found: `a ${name} alone`, hint: `add ${other}: file:PATH beside it` }
}

export const groupPolicyRule = (rule: PolicyRule): ConfigRule => ofEachUpstream([rule])

export const upstreamPolicyRule: ConfigRule = (tree) =>
  ofEachUpstream([healthPath, unverifiedTls, caBundle, keyPair], nestedUpstreamKeys())(tree)
