import { hash } from 'node:crypto'
import { isPlainObject } from '../lib/plain-object.ts'
import type { Config } from './config.ts'
import { configTransfers } from './transfer-parts.ts'

/** Hashes a configuration. What features have read of other files stands in it by its digest. */
export const hashConfig = (config: Omit<Config, 'hash'>): string =>
  hashValue(Object.assign({ ...config }, ...configTransfers.map((each) => each.identify?.(config))))

/** The order of keys makes no difference. */
export const hashValue = (settings: unknown): string =>
  hash('sha256', JSON.stringify(settings, sortKeys), 'hex').slice(0, 12)

const sortKeys = (_key: string, value: unknown): unknown =>
  isPlainObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
