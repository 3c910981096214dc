import type { Fields } from '../../../fields.ts'
import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

/** Lists the fields that an answer varies by: lower case, sorted, each once; `*`: no other request will ever match (RFC 9111 §4.1). */
export const varyNames = (_fields: Fields): readonly string[] | '*' => {
  throw new Error('not written yet')
}

/** Writes what a request says in the fields that answers vary by, normalised: two that match write the same. Empty for no names. */
export const selectingKey = (_names: readonly string[], _request: CacheRequest): string => {
  throw new Error('not written yet')
}

/** Chooses the latest of the variants that match a request; null: none does. */
export const select = <T extends { readonly head: StoredHead }>(
  _variants: Iterable<T>,
  _request: CacheRequest,
): T | null => {
  throw new Error('not written yet')
}
