import type { OperationConfig } from '../config/config.ts'
import { compose, type Handle, type Layer } from '../exchange.ts'
import { bodyLimit } from '../layers/body-limit.ts'
import { deadline } from '../layers/deadline.ts'
import { refuse } from '../layers/refuse.ts'
import { formatDuration, formatSize } from '../units.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Override } from './overrides.ts'

/** Is a feature in its place around an upstream, for composing it and for telling people of it. */
export interface StackRow {
  readonly name: string
  /** The key that decides it, as an operation's own section of the file spells it. */
  readonly key: string
  /** What that key says, as the file would write it. */
  readonly setting: string
  /** Null: it is off. */
  readonly layer: Layer | null
}

/** Lists the layers around an upstream, the outermost first. The order of this list is the behaviour. */
export const stackRows = ({ maxBodyBytes, deadlineMs }: OperationConfig): readonly StackRow[] => [
  row('body-limit', 'maxBody', maxBodyBytes, formatSize, bodyLimit),
  row('deadline', 'deadline', deadlineMs, formatDuration, deadline),
]

/** Composes what stands behind one operation; what is off is not in it. `override` is an operator's word of this hour, before the file's. */
export const stack = (
  operation: OperationConfig,
  upstream: Pick<Upstream, 'send'>,
  override: Override | null = null,
): Handle =>
  (override ?? operation).state === 'refuse'
    ? refuse(override?.until ?? null)
    : compose(
        stackRows(operation).map(({ layer }) => layer),
        upstream.send,
      )

const row = <T>(
  name: string,
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer,
): StackRow =>
  value === null
    ? { name, key, setting: 'none', layer: null }
    : { name, key, setting: format(value), layer: make(value) }
