import { PartLoaders } from '../lib/part-loaders.ts'
import type { Config } from './config.ts'
import type { ConfigChange, ConfigReport, ValueChange } from './diff/diff-values.ts'
import type { KeyPath } from './problem.ts'

/** A feature's part of a configuration, for the serving process, which has no schema. */
export interface ConfigTransfer {
  /** Replaces members in the hash of the configuration. */
  identify?(config: Omit<Config, 'hash'>): Readonly<Record<string, unknown>>
  /** Lists the members that the hash leaves out: they follow the file even where the hash stays the same. */
  unhashed?(config: Config): Partial<Config>
  refineChange?(change: ValueChange, from: ConfigReport, to: ConfigReport): ValueChange | null
  detailChange?(change: ConfigChange, from: Config, to: Config): readonly ConfigChange[]
  authorities?(config: Config): { readonly path: KeyPath; readonly text: string }
  /** Takes out parts that must not cross to another thread or process, or are dear to send. */
  pack(config: Config, to: 'thread' | 'worker'): readonly [left: Config, packed: unknown]
  /** Puts the parts back. A part equal to that of `running` is the same object. */
  unpack?(left: Config, packed: unknown, running: Config | null): Promise<Config>
}

export const transferLoaders = new PartLoaders<{ readonly transfer: ConfigTransfer }>()
