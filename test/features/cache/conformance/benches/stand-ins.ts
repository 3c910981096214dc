/** Caches that are wrong on purpose: rows have to detect them. */
import { getFirstFieldValue } from '../../../../../src/core/exchange/header-fields.ts'
import type { Origin } from '../origin.ts'
import type { Bench, ClientResponse } from '../play.ts'

const bench = (
  send: (origin: Origin, kept: Map<string, ClientResponse>, key: string, fields: readonly string[]) => ClientResponse,
): Bench => {
  let ms = 0
  const set = (to: number): void => {
    ms = to
  }
  return {
    name: 'policy',
    clock: { now: () => ms, set },
    eventual: false,
    open: async (_, origin) => {
      const kept = new Map<string, ClientResponse>()
      return { send: async ({ query, fields }) => send(origin, kept, query, fields), settle: async () => {} }
    },
  }
}

const forward = (origin: Origin, fields: readonly string[]): ClientResponse => {
  const given = origin.isDown ? 'refused' : origin.receive(fields)
  return typeof given === 'string' ? { status: 502, fields: [], body: '' } : given
}

/** A cache that stores nothing. */
export const storesNothing = (): Bench => bench((origin, _kept, _key, fields) => forward(origin, fields))

/** A cache that stores everything, and serves it for ever to each request for the same URI. */
export const storesEverything = (): Bench =>
  bench((origin, kept, key, fields) => {
    const got = kept.get(key) ?? forward(origin, fields)
    kept.set(key, got)
    return got
  })

/**
 * A cache that reads fields carelessly, and forwards none: a condition is always a 304, and each Range with numbers is
 * a range.
 */
export const readsCarelessly = (): Bench =>
  bench((origin, _kept, _key, fields) => {
    if (getFirstFieldValue(fields, 'if-none-match') !== undefined) return { status: 304, fields: [], body: '' }
    const { status, fields: own, body } = forward(origin, [])
    const marked = [...own, 'Age', '0', 'Cache-Status', 'x']
    const range = getFirstFieldValue(fields, 'range')
    if (range === undefined) return { status, fields: marked, body }
    const [start, last] = range.match(/\d+/g)?.map(Number) ?? []
    return { status: 206, fields: marked, body: body.slice(start ?? 0, (last ?? body.length) + 1) }
  })
