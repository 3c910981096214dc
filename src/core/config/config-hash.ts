import { hash } from 'node:crypto'
import { isPlainObject } from '../lib/plain-object.ts'
import type { Config } from './config.ts'
import { configTransfers } from './transfer-parts.ts'

/** Files that features read count by their digest. */
export const hashConfig = (config: Omit<Config, 'hash'>): string =>
  hashValue(Object.assign({ ...config }, ...configTransfers.map((each) => each.identify?.(config))))

/** Ignores the order of keys. */
export const hashValue = (settings: unknown): string =>
  hash('sha256', JSON.stringify(settings, sortKeys), 'hex').slice(0, 12)

const sortKeys = (_key: string, value: unknown): unknown =>
  isPlainObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
