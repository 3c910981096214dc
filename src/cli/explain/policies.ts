import type { UpstreamConfig } from '../../config/config.ts'
import { policies } from '../../config/effective-policies.ts'
import { type Effective, Secret } from '../../config/shown.ts'

/** Lists key paths, each with its value as it is shown. */
export type Rows = readonly (readonly [key: string, value: string])[]

/** Shows what an upstream does about endpoints that fail, key by key; what is off is one row. */
export const policyRows = (upstream: UpstreamConfig): Rows => {
  const { tls, retry, ...rest } = policies(upstream)
  const isTls = upstream.endpoints.some(({ origin }) => origin.startsWith('https:'))
  return [
    ...(isTls ? flat({ tls }) : []), // it says nothing about plain HTTP
    ...flat(rest),
    ...(retry === 'none' ? [] : flat({ retry })), // off, it is among the layers
  ]
}

/** Lists what has a row of its own when it is on: its keys may be built in, and yet the file turns it on. */
const switches: readonly string[] = ['healthCheck', 'outlier', 'circuitBreaker']

/** Lists the keys of a tree of the configuration, each with its whole path. */
export const flat = (tree: { readonly [key: string]: Effective | undefined }, above = ''): Rows =>
  Object.entries(tree).flatMap(([key, value]): Rows => {
    if (value === undefined) return []
    const isMap = typeof value === 'object' && !(value instanceof Secret) && !isList(value)
    if (!isMap) return [[`${above}${key}`, shown(value)]]
    const turnedOn: Rows = switches.includes(key) ? [[key, 'on']] : []
    return [...turnedOn, ...flat(value, `${above}${key}.`)]
  })

const isList = (value: Effective): value is readonly Effective[] => Array.isArray(value)

const shown = (value: Effective): string => {
  if (value instanceof Secret) return value.toJSON()
  return isList(value) ? value.map(shown).join(', ') : String(value)
}
