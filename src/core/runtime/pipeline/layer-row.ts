import type { Layer } from '../../exchange/exchange.ts'

export interface LayerRow {
  readonly name: string
  /** The path of the key that switches it: `upstreams.risk.retry`. */
  readonly key: string
  /** The value of that key, as the file would write it. */
  readonly setting: string
  /** Null: it is off. */
  readonly layer: Layer | null
}

/** `off`: how the file writes that the layer is off, which is a `value` of null. */
export const layerRow = <T>(
  name: string,
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer | null,
  off: 'none' | 'false' | 'off' | 'forward' = 'none',
): LayerRow =>
  value === null ? { name, key, setting: off, layer: null } : { name, key, setting: format(value), layer: make(value) }
