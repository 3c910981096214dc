import { hash } from 'node:crypto'
import { isPlainObject } from '../lib/plain-object.ts'
import type { Config } from './config.ts'
import { transferLoaders } from './transfer-part.ts'

export const configTransfers = (await transferLoaders.load()).map(({ transfer }) => transfer)

export interface PackedConfig {
  readonly config: Config
  readonly packed: readonly unknown[]
}

export const packConfig = (config: Config, to: 'thread' | 'worker'): PackedConfig => {
  let left = config
  const packed = configTransfers.map((transfer) => {
    const [next, value] = transfer.pack(left, to)
    left = next
    return value
  })
  return { config: left, packed }
}

export const unpackConfig = async ({ config, packed }: PackedConfig, running: Config | null): Promise<Config> => {
  let whole = config
  for (const [nth, transfer] of configTransfers.entries())
    whole = (await transfer.unpack?.(whole, packed[nth], running)) ?? whole
  return whole
}

/** Files that features read count by their digest. */
export const hashConfig = (config: Omit<Config, 'hash'>): string =>
  hashValue(Object.assign({ ...config }, ...configTransfers.map((each) => each.identify?.(config))))

export const withUnhashed = (config: Config, other: Config): Config =>
  Object.assign({ ...config }, ...configTransfers.map((each) => each.unhashed?.(other)))

export const hashValue = (settings: unknown): string =>
  hash('sha256', JSON.stringify(settings, sortKeys), 'hex').slice(0, 12)

const sortKeys = (_key: string, value: unknown): unknown =>
  isPlainObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
