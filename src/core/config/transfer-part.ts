import { PartLoaders } from '../lib/part-loaders.ts'
import type { Config } from './config.ts'
import type { ConfigChange, ConfigReport, ValueChange } from './diff/diff-values.ts'
import type { KeyPath } from './problem.ts'

export interface ConfigTransfer {
  /** Members that replace those of the same name when the configuration is hashed. */
  identify?(config: Omit<Config, 'hash'>): Readonly<Record<string, unknown>>
  /** Members outside the hash. They follow the file even when the hash stays the same. */
  unhashed?(config: Config): Partial<Config>
  refineChange?(change: ValueChange, from: ConfigReport, to: ConfigReport): ValueChange | null
  detailChange?(change: ConfigChange, from: Config, to: Config): readonly ConfigChange[]
  authorities?(config: Config): { readonly path: KeyPath; readonly text: string }
  /** Takes out parts that cannot, or should not, be copied to another thread or process. */
  pack(config: Config, to: 'thread' | 'worker'): readonly [left: Config, packed: unknown]
  /** Puts the parts back. Reuses the object of `running` where a part is equal. */
  unpack?(left: Config, packed: unknown, running: Config | null): Promise<Config>
}

export const transferLoaders = new PartLoaders<{ readonly transfer: ConfigTransfer }>()
