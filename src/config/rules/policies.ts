import type * as z from 'zod'
import { type Group, groups } from '../../catalog.ts'
import { formatDuration } from '../../units.ts'
import { authorityFindings, certificateFindings } from '../certificate.ts'
import { type Finding, formatPath, type Path } from '../problem.ts'
import { healthCheckSchema, retrySchema, upstreamTlsSchema } from '../schema/policies.ts'
import { External } from '../schema/scalar.ts'
import { type Check, childAt, type Found, findingsBy, readAt } from './rule.ts'

/**
 * Checks what the levels of an upstream's policies are together: a group may state one half, and `defaults` the other. It skips what is
 * broken by itself, and tells once what several groups inherit.
 */
export const policyChecks: Check = (tree) => {
  const found = groups.flatMap((group) => findingsBy(rules, levelsOf(tree, group)))
  return [...new Map(found.map((finding) => [`${formatPath(finding.path)}: ${finding.message}`, finding])).values()]
}

/** A key as the levels of a group have it. */
interface Level<T> {
  /** Undefined: no level states it, or the one that does is wrong about it. */
  readonly value: T | undefined
  /** Where it is stated, or would best be. */
  readonly path: Path
  readonly stated: boolean
}

interface Levels {
  /** Reads a key from the first level that states it. */
  readonly read: <T>(schema: z.ZodType<T>, ...key: Path) => Level<T>
  /** Finds the level that decides whether a policy is on; null: it is off. */
  readonly on: (policy: string) => Path | null
}

const levelsOf = (tree: unknown, group: Group): Levels => {
  const bases: readonly Path[] = [['upstreams', group], ['defaults']]
  const first = (key: Path): Path | undefined =>
    bases.map((base) => [...base, ...key]).find((path) => childAt(tree, path) !== undefined)
  return {
    read: (schema, ...key) => {
      const path = first(key)
      const value = path === undefined ? schema.safeParse(undefined).data : readAt(tree, schema, path)
      return { value, path: path ?? ['defaults', ...key], stated: path !== undefined }
    },
    on: (policy) => {
      const path = first([policy])
      // Whatever else stands there is a problem of its own.
      return path !== undefined && isMap(childAt(tree, path)) ? path : null
    },
  }
}

const isMap = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof External)

type Rule = (levels: Levels) => Found

const { path: probedPath } = healthCheckSchema.shape
const backoff = retrySchema.shape.backoff.unwrap().shape
const { verify, insecure, ca, certificate, key } = upstreamTlsSchema.shape

const healthPath: Rule = ({ on, read }) => {
  const at = on('healthCheck')
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

const pauseOrder: Rule = ({ on, read }) => {
  if (on('retry') === null) return null
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

const unverified: Rule = ({ read }) => {
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

const authority: Rule = ({ read }) => {
  const { value, path } = read(ca, 'tls', 'ca')
  return typeof value === 'string' && authorityFindings(path, value)
}

const pair: Rule = ({ read }) => {
  const shown = read(certificate, 'tls', 'certificate')
  const own = read(key, 'tls', 'key')
  const places: Readonly<Record<string, Path>> = { certificate: shown.path, key: own.path }
  if (typeof shown.value === 'string' && typeof own.value === 'string') {
    const both = { certificate: shown.value, key: own.value }
    // The two may stand on two levels.
    return certificateFindings([], both).map((each) => ({ ...each, path: places[String(each.path[0])] ?? [] }))
  }
  if (typeof shown.value === 'string') return alone('certificate', shown, 'key', own)
  return typeof own.value === 'string' && alone('key', own, 'certificate', shown)
}

/** Tells of one half without the other; one that is stated and broken is told of by itself. */
const alone = (name: string, { path }: Level<unknown>, other: string, half: Level<unknown>): Finding | null => {
  if (half.stated && half.value !== null) return null
  const told = { message: `a ${name} without its ${other}`, expected: 'both or neither' }
  return half.stated
    ? { path: half.path, ...told, found: 'none', hint: `write ${name}: none as well, or ${other}: file:PATH` }
    : { path, ...told, found: `a ${name} alone`, hint: `add ${other}: file:PATH beside it` }
}

const rules: readonly Rule[] = [healthPath, pauseOrder, unverified, authority, pair]
