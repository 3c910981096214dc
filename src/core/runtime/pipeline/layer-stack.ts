import type { Layer } from '../../exchange/exchange.ts'

/**
 * The places of layers around an upstream, the outermost first; each has one taker. The order of this list is the
 * behaviour: a request passes it from top to bottom, its response from bottom to top.
 */
export const layerPlaces = [
  // Observe everything below, also what it rejects.
  'tracing',
  'server-timing',
  'metrics',
  'audit',

  // Shed load, before a request costs any work.
  'load-shedding',
  'concurrency',
  'upstream-concurrency',
  'operation-concurrency',

  // Limit an address before its credentials are checked, which costs more. Then authenticate, and limit the client
  // that was found.
  'address-limit',
  'identity-field',
  'auth',
  'client-concurrency',
  'client-limit',

  // Serve the request: from the cache, or from the upstream in time.
  // Above all that looks at a body: an empty one in chunks is none from here on.
  'get-content',
  'body-limit',
  // Behind all that says whose a request is or rejects it, and outside the cache, which keeps the sides apart.
  'side',
  'request-contract',
  'cache',
  // Above all that may make a POST happen, and below all that rejects it: a rejected request uses up no key.
  'idempotency',
  'deadline',
  // Below the cache, which stores only what was checked. Within the deadline, since it may wait for the whole body.
  'response-contract',
  // Below what replaces an answer: what the upstream has done makes stored responses invalid, whatever the client gets.
  'cache-invalidation',
  // Below what rejects messages: it learns what the upstream sends, and from requests that reach it. Below the cache
  // too, so that a stored response is learnt once. Above retries, which end in one response.
  'contract-learning',
  // Above retries, which so make no second copy. Below all that keeps a request from the upstream, and all that
  // replaces its answer. Where nothing is copied, a client must not send the marker all the same.
  'shadow-marker',
  'shadow',
  'retry',
  // Below retries: what the other side mends was a fault of the candidate all the same.
  'guard',
] as const

/** A layer in its place: what is composed, and what `explain` shows of it. */
export interface LayerRow {
  readonly name: (typeof layerPlaces)[number]
  /** The path of the key that switches it: `upstreams.risk.retry`. */
  readonly key: string
  /** The value of that key, as the file would write it. */
  readonly setting: string
  /** Null: it is off. */
  readonly layer: Layer | null
}

/** `off`: how the file writes that the layer is off, which is a `value` of null. */
export const layerRow = <T>(
  name: LayerRow['name'],
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer | null,
  off: 'none' | 'false' | 'off' | 'forward' = 'none',
): LayerRow =>
  value === null ? { name, key, setting: off, layer: null } : { name, key, setting: format(value), layer: make(value) }

/** Throws when two layers take one place. */
export const inOrder = (rows: readonly LayerRow[]): readonly LayerRow[] => {
  const byPlace = new Map(rows.map((row) => [row.name, row]))
  if (byPlace.size < rows.length) throw new Error('two layers take one place of the layer stack')
  return layerPlaces.flatMap((place) => byPlace.get(place) ?? [])
}
