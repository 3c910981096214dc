import type * as z from 'zod'
import { type Group, groups } from '../../operations.ts'
import { formatDuration } from '../../units.ts'
import { validateCaBundle, validateKeyPair } from '../certificates.ts'
import { type ConfigIssue, formatKeyPath, type KeyPath } from '../problem.ts'
import { ExternalValue } from '../schema/scalar.ts'
import { healthCheckSchema, retrySchema, upstreamTlsSchema } from '../sections/upstream-policies.ts'
import { applyRules, type ConfigRule, parseAt, type RuleResult, valueAt } from './rule.ts'

/**
 * Checks what the levels of an upstream's policies are together: a group may state one half, and `defaults` the other. It skips what is
 * broken by itself, and tells once what several groups inherit.
 */
export const upstreamPolicyRule: ConfigRule = (tree) => {
  const issues = groups.flatMap((group) => applyRules(rules, getLevels(tree, group)))
  return [...new Map(issues.map((issue) => [`${formatKeyPath(issue.path)}: ${issue.message}`, issue])).values()]
}

/** A key as the levels of a group have it. */
interface StatedKey<T> {
  /** Undefined: no level states it, or the one that does is wrong about it. */
  readonly value: T | undefined
  /** Where it is stated, or would best be. */
  readonly path: KeyPath
  readonly stated: boolean
}

interface Levels {
  /** Reads a key from the first level that states it. */
  readonly read: <T>(schema: z.ZodType<T>, ...key: KeyPath) => StatedKey<T>
  /** Finds the level that decides whether a policy is on; null: it is off. */
  readonly enabledAt: (policy: string) => KeyPath | null
}

const getLevels = (tree: unknown, group: Group): Levels => {
  const bases: readonly KeyPath[] = [['upstreams', group], ['defaults']]
  const first = (key: KeyPath): KeyPath | undefined =>
    bases.map((base) => [...base, ...key]).find((path) => valueAt(tree, path) !== undefined)
  return {
    read: (schema, ...key) => {
      const path = first(key)
      const value = path === undefined ? schema.safeParse(undefined).data : parseAt(tree, schema, path)
      return { value, path: path ?? ['defaults', ...key], stated: path !== undefined }
    },
    enabledAt: (policy) => {
      const path = first([policy])
      // Whatever else stands there is a problem of its own.
      return path !== undefined && isMap(valueAt(tree, path)) ? path : null
    },
  }
}

const isMap = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExternalValue)

type PolicyRule = (levels: Levels) => RuleResult

const { path: probedPath } = healthCheckSchema.shape
const backoff = retrySchema.shape.backoff.unwrap().shape
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
    hint: 'add a path that answers 2xx while the service is well, such as path: /healthz',
  }
}

const backoffOrder: PolicyRule = ({ enabledAt, read }) => {
  if (enabledAt('retry') === null) return null
  const [base, max] = [read(backoff.base, 'retry', 'backoff', 'base'), read(backoff.max, 'retry', 'backoff', 'max')]
  if (base.value === undefined || max.value === undefined || base.value <= max.value) return null
  const message = 'the first pause is longer than the longest'
  return base.stated
    ? {
        path: base.path,
        message,
        expected: `at most ${formatDuration(max.value)}, which is retry.backoff.max`,
        found: formatDuration(base.value),
        hint: 'write a shorter one, or a longer retry.backoff.max',
      }
    : {
        path: max.path,
        message,
        expected: `at least ${formatDuration(base.value)}, which is retry.backoff.base`,
        found: formatDuration(max.value),
        hint: 'write a longer one, or a shorter retry.backoff.base',
      }
}

const unverifiedTls: PolicyRule = ({ read }) => {
  const { value, path } = read(verify, 'tls', 'verify')
  return (
    value === false &&
    read(insecure, 'tls', 'insecure').value === false && {
      path,
      message: 'whoever answers would be believed, and would be sent what is meant for the upstream',
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
  const shown = read(certificate, 'tls', 'certificate')
  const own = read(key, 'tls', 'key')
  const places: Readonly<Record<string, KeyPath>> = { certificate: shown.path, key: own.path }
  if (typeof shown.value === 'string' && typeof own.value === 'string') {
    const both = { certificate: shown.value, key: own.value }
    // The two may stand on two levels.
    return validateKeyPair([], both).map((each) => ({ ...each, path: places[String(each.path[0])] ?? [] }))
  }
  if (typeof shown.value === 'string') return halfPair('certificate', shown, 'key', own)
  return typeof own.value === 'string' && halfPair('key', own, 'certificate', shown)
}

/** Tells of one half without the other; one that is stated and broken is told of by itself. */
const halfPair = (
  name: string,
  { path }: StatedKey<unknown>,
  other: string,
  half: StatedKey<unknown>,
): ConfigIssue | null => {
  if (half.stated && half.value !== null) return null
  const details = { message: `a ${name} without its ${other}`, expected: 'both or neither' }
  return half.stated
    ? { path: half.path, ...details, found: 'none', hint: `write ${name}: none as well, or ${other}: file:PATH` }
    : { path, ...details, found: `a ${name} alone`, hint: `add ${other}: file:PATH beside it` }
}

const rules: readonly PolicyRule[] = [healthPath, backoffOrder, unverifiedTls, caBundle, keyPair]
