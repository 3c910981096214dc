import type * as z from 'zod'
import { byGroup, byOperation } from '../../../operations.ts'
import type {
  Config,
  OperationConfig,
  ParsedConfig,
  ParsedDefaults,
  ParsedOperation,
  ParsedUpstream,
  UpstreamConfig,
} from '../config.ts'
import { configParts } from '../config-part.ts'
import { mergeLevels, type PartialLevel, resolvePolicy } from '../schema/inheritance.ts'
import {
  circuitBreakerSchema,
  healthCheckSchema,
  type operationDefaults,
  outlierSchema,
} from '../sections/upstream-defaults.ts'
import { hashConfig } from '../transfer-parts.ts'

/**
 * Merges operation > upstream > defaults > built-in. `read` has the contents of other files. The result is not frozen.
 */
export function resolveConfig(parsed: ParsedConfig, ...read: readonly Partial<Config>[]): Config {
  const { version: _, defaults, upstreams, operations, ...sections } = parsed
  const settings: Omit<Config, 'hash'> = Object.assign(
    {
      ...sections,
      upstreams: byGroup((group) => resolveUpstream(upstreams[group], defaults)),
      operations: byOperation(({ id, group }) => resolveOperation(operations[id], upstreams[group], parsed)),
    },
    ...configParts.map(({ withoutFiles }) => withoutFiles),
    ...read,
  )
  return { hash: hashConfig(settings), ...settings }
}

const resolveOperation = (
  given: ParsedOperation | undefined,
  upstream: ParsedUpstream,
  parsed: ParsedConfig,
): OperationConfig => {
  // `null` means "no limit", and hides the levels below like any other value.
  const resolve = (key: keyof typeof operationDefaults): number | null => {
    const own = given?.[key] === undefined ? upstream[key] : given[key]
    return own === undefined ? parsed.defaults[key] : own
  }
  const own = { state: given?.state ?? 'serve', deadline: resolve('deadline'), maxBody: resolve('maxBody') }
  return Object.assign(own, ...configParts.map((part) => part.resolveOperation?.(given, parsed)))
}

const resolveUpstream = (given: ParsedUpstream, defaults: ParsedDefaults): UpstreamConfig => {
  const { deadline: _, maxBody: __, ...merged } = resolveSide(given, defaults)
  const keys = configParts.flatMap(({ policyKeys = [], upstreamKeys = [] }) => [...policyKeys, ...upstreamKeys])
  const own = { ...merged, ...Object.fromEntries(keys.map(({ key }) => [key, null])) } as object as UpstreamConfig
  return Object.assign({ ...own }, ...configParts.map((part) => part.resolveUpstream?.(given, defaults, own)))
}

type InheritedPolicies = Pick<ParsedDefaults, 'healthCheck' | 'outlier' | 'circuitBreaker'>
type StatedPolicies = Pick<ParsedUpstream, keyof InheritedPolicies>

export const resolveSide = <T extends InheritedPolicies>(stated: object & StatedPolicies, inherited: T) => ({
  ...mergeLevels<T>(stated as PartialLevel<T>, inherited),
  healthCheck: requirePath(resolvePolicy(stated.healthCheck, inherited.healthCheck, healthCheckSchema)),
  outlier: resolvePolicy(stated.outlier, inherited.outlier, outlierSchema),
  circuitBreaker: resolvePolicy(stated.circuitBreaker, inherited.circuitBreaker, circuitBreakerSchema),
})

const requirePath = (given: z.output<typeof healthCheckSchema> | null): UpstreamConfig['healthCheck'] => {
  if (given === null) return null
  const { path } = given
  if (path === null) throw new TypeError('a health check without a path is rejected before')
  return { ...given, path }
}
