import type { Config } from './config.ts'
import { transferLoaders } from './transfer-part.ts'

/** In the order of the feature list, in every thread and process. */
export const configTransfers = (await transferLoaders.load()).map(({ transfer }) => transfer)

export interface PackedConfig {
  readonly config: Config
  readonly packed: readonly unknown[]
}

export const packConfig = (config: Config, to: 'thread' | 'worker'): PackedConfig => {
  let left = config
  const packed: unknown[] = []
  for (const transfer of configTransfers) {
    const [next, value] = transfer.pack(left, to)
    left = next
    packed.push(value)
  }
  return { config: left, packed }
}

export const unpackConfig = async ({ config, packed }: PackedConfig, running: Config | null): Promise<Config> => {
  let whole = config
  for (const [nth, transfer] of configTransfers.entries())
    whole = (await transfer.unpack?.(whole, packed[nth], running)) ?? whole
  return whole
}
