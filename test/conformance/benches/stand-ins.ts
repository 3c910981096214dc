/** Caches that are wrong on purpose: rows have to find it out. */
import { getFirstFieldValue } from '../../../src/header-fields.ts'
import type { Origin } from '../origin.ts'
import type { Bench, Got } from '../play.ts'

const bench = (ask: (origin: Origin, kept: Map<string, Got>, key: string, fields: readonly string[]) => Got): Bench => {
  let ms = 0
  const set = (to: number): void => {
    ms = to
  }
  return {
    name: 'policy',
    clock: { now: () => ms, set },
    eventual: false,
    open: async (_, origin) => {
      const kept = new Map<string, Got>()
      return { ask: async ({ query, fields }) => ask(origin, kept, query, fields), settle: async () => {} }
    },
  }
}

const forward = (origin: Origin, fields: readonly string[]): Got => {
  const given = origin.gone ? 'refused' : origin.receive(fields)
  return typeof given === 'string' ? { status: 502, fields: [], body: '' } : given
}

/** Stores nothing. */
export const storesNothing = (): Bench => bench((origin, _kept, _key, fields) => forward(origin, fields))

/** Stores everything, and sends it for ever to whoever asks for the same URI. */
export const storesEverything = (): Bench =>
  bench((origin, kept, key, fields) => {
    const got = kept.get(key) ?? forward(origin, fields)
    kept.set(key, got)
    return got
  })

/** Reads no field with care, and forwards none: a condition is always a 304, and whatever has numbers in it is a range. */
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
