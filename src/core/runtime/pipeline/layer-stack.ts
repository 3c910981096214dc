import type { Layer } from '../../exchange/exchange.ts'

/** Outermost first. At most one layer has each name. */
export const layerPlaces = [
  // Observe everything below, rejections included.
  'tracing',
  'server-timing',
  'metrics',
  'audit',

  // Shed load before a request costs work.
  'load-shedding',
  'concurrency',
  'upstream-concurrency',
  'operation-concurrency',

  // Limit an address before the costlier check of its credentials. Then authenticate, and limit the client.
  'address-limit',
  'identity-field',
  'auth',
  'client-concurrency',
  'client-limit',

  // Serve the request, from the cache or the upstream. `get-content` is above every layer that looks at a body, because
  // it turns an empty chunked body into no body.
  'get-content',
  'body-limit',
  // Below every layer that identifies or rejects a client. Above the cache, which keeps the sides apart.
  'side',
  'request-contract',
  'cache',
  // Above every layer that may send a POST, below every layer that rejects one: a rejected request uses up no key.
  'idempotency',
  'deadline',
  // Below the cache, which stores only checked responses. Below the deadline, because it may wait for the whole body.
  'response-contract',
  // Below layers that replace a response: a change in the upstream invalidates stored responses even if the client gets
  // another response.
  'cache-invalidation',
  // Learning stands below layers that reject messages, so that it sees only what reaches or leaves the upstream; below
  // the cache, so that it learns from a stored response once; above retries, which end in one response.
  'contract-learning',
  // Above retries, so that a retry makes no second copy. Below layers that keep a request from the upstream or replace
  // its response. `shadow-marker` is always there, because a client must not send the marker.
  'shadow-marker',
  'shadow',
  'retry',
  // Below retries: a failure of the candidate counts even if the retry at the primary succeeds.
  'guard',
] as const

export interface LayerRow {
  readonly name: (typeof layerPlaces)[number]
  /** Such as `upstreams.risk.retry`. */
  readonly key: string
  readonly setting: string
  readonly layer: Layer | null
}

export const layerRow = <T>(
  name: LayerRow['name'],
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer | null,
  off: 'none' | 'false' | 'off' | 'forward' = 'none',
): LayerRow =>
  value === null ? { name, key, setting: off, layer: null } : { name, key, setting: format(value), layer: make(value) }

export const inOrder = (rows: readonly LayerRow[]): readonly LayerRow[] => {
  const byPlace = new Map(rows.map((row) => [row.name, row]))
  if (byPlace.size < rows.length) throw new Error('two layers take one place of the layer stack')
  return layerPlaces.flatMap((place) => byPlace.get(place) ?? [])
}
