import type { Config } from '../config.ts'
import { configParts } from '../config-part.ts'
import { configSchema, sections } from '../config-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { type RenderedValue, renderMap, Secret } from '../schema/annotations.ts'
import { schemaKeys } from '../schema/schema-keys.ts'
import { hashValue } from '../transfer-parts.ts'
import type { ConfigReport } from './diff-values.ts'

export const renderEffectiveConfig = (config: Config): { readonly [key: string]: RenderedValue } => {
  const ownRendered = sections.flatMap(({ key, render }) => (render === undefined ? [] : [{ key, render }]))
  return {
    ...renderMap(configSchema, {
      version: 1,
      ...config,
      ...Object.fromEntries(ownRendered.map(({ key }) => [key, []])),
    }),
    ...Object.fromEntries(ownRendered.map(({ key, render }) => [key, render(config)])),
  }
}

/** Runs in the loading thread: the serving thread has no schema. */
export const reportConfig = (config: Config): ConfigReport => {
  const tree = renderEffectiveConfig(config)
  const digests = Object.fromEntries(hashSecrets(tree))
  return {
    hash: config.hash,
    config: JSON.parse(JSON.stringify(tree)), // replaces secrets by ***
    digests: Object.assign(digests, ...configParts.map((part) => part.digests?.(config))),
  }
}

/** Settings that need a restart, by key path. The value is as in the file, for a map its path; null: not set. */
export type RestartOnlySettings = { readonly [path: string]: string | null }

export const getRestartOnlySettings = ({ config }: ConfigReport): RestartOnlySettings =>
  Object.fromEntries(
    schemaKeys.flatMap(({ path, restart }) => {
      if (!restart) return []
      const name = formatKeyPath(path)
      const value = path.reduce<unknown>((tree, key) => Object(tree)[key], config)
      return [[name, value === undefined ? null : typeof value === 'object' ? name : String(value)]]
    }),
  )

function hashSecrets(value: RenderedValue, path: KeyPath = []): readonly (readonly [path: string, hash: string])[] {
  if (value instanceof Secret) return [[formatKeyPath(path), hashValue(value.reveal())]]
  if (typeof value !== 'object') return []
  return Object.entries<RenderedValue>(value as { readonly [key: string]: RenderedValue }).flatMap(([key, entry]) =>
    hashSecrets(entry, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}
