import type { Config } from './config.ts'

/** How a feature's part of a configuration crosses to another thread or process, where that is dear or must not be. */
export interface ConfigTransfer {
  /** Takes out what is not sent as it is, and returns beside the rest what is sent of it. */
  pack(config: Config, to: 'thread' | 'worker'): readonly [left: Config, packed: unknown]
  /** Puts it back. What is the same as in `running` is the very same object. */
  unpack?(left: Config, packed: unknown, running: Config | null): Promise<Config>
}

/** Of each feature that needs one, in every thread and process. */
export const configTransfers = new Set<ConfigTransfer>()

/** A configuration that can be sent. */
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
  for (const [nth, transfer] of [...configTransfers].entries())
    whole = (await transfer.unpack?.(whole, packed[nth], running)) ?? whole
  return whole
}
