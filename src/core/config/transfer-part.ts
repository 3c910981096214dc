import { PartLoaders } from '../lib/part-loaders.ts'
import type { Config } from './config.ts'
import type { ConfigChange, ConfigReport, ValueChange } from './diff/diff-values.ts'
import type { KeyPath } from './problem.ts'

/**
 * What becomes of a feature's part of a configuration without the schema of the file, which the process that serves has
 * not loaded.
 */
export interface ConfigTransfer {
  /** What stands in the hash of a configuration in place of its members. */
  identify?(config: Omit<Config, 'hash'>): Readonly<Record<string, unknown>>
  /** Returns a change as it is listed; null: it is not. */
  refineChange?(change: ValueChange, from: ConfigReport, to: ConfigReport): ValueChange | null
  /** Lists what a report leaves out of a change. */
  detailChange?(change: ConfigChange, from: Config, to: Config): readonly ConfigChange[]
  /** Certificates, in PEM, of those who sign certificates of clients, and where the file has them. */
  authorities?(config: Config): { readonly path: KeyPath; readonly text: string }
  /** Takes out what must not cross to another thread or process, or is dear to send, and returns what is sent of it. */
  pack(config: Config, to: 'thread' | 'worker'): readonly [left: Config, packed: unknown]
  /** Puts it back. What is the same as in `running` is the very same object. */
  unpack?(left: Config, packed: unknown, running: Config | null): Promise<Config>
}

/** Of each feature that needs one. */
export const transferLoaders = new PartLoaders<{ readonly transfer: ConfigTransfer }>()
