import { formatDuration, parseDuration } from '../units.ts'
import type { Desk } from './desk.ts'
import type { Refusal } from './problem.ts'

const defaultTtlMs = 15 * 60_000
const maxTtlMs = 24 * 3_600_000

/** Is an order that holds for a time, as far as it is the same for whatever it is about. */
export interface Order {
  /** What else it says. Nothing of it is checked yet. */
  readonly said: Readonly<Record<string, unknown>>
  readonly ttlMs: number
}

/** Reads an order; `example` shows what it may say, and nothing else is taken. */
export const readOrder = (body: string, example: Readonly<Record<string, string>>): Order | Refusal => {
  const shown = { ...example, ttl: '15m' }
  const given = parse(body)
  if (given === null) return bad(`a JSON object is expected, such as ${JSON.stringify(shown)}`)
  const { ttl, ...said } = given
  const keys = Object.keys(shown)
  const unknown = Object.keys(said).find((key) => !keys.includes(key))
  if (unknown !== undefined) return bad(`${JSON.stringify(unknown.slice(0, 60))} is not known; write ${written(keys)}`)
  const ttlMs = ttl === undefined ? defaultTtlMs : typeof ttl === 'string' ? parseDuration(ttl) : undefined
  if (ttlMs === undefined || ttlMs < 1000 || ttlMs > maxTtlMs)
    return bad(`ttl is expected to be a duration from 1s to ${formatDuration(maxTtlMs)}, such as 15m, 30s or 2h`)
  return { said, ttlMs }
}

/** Puts orders into effect that were just given; when that cannot be, `undo` takes them back. Null: they are in effect. */
export const putIntoEffect = async (
  { reloader, draining }: Pick<Desk, 'reloader' | 'draining'>,
  undo: () => void,
): Promise<Refusal | null> => {
  try {
    await reloader.reapply()
    return null
  } catch (error) {
    undo()
    if (draining()) return stopping
    throw error
  }
}

/** Refuses an order that cannot be read. */
export const bad = (detail: string): Refusal => ({ status: 400, code: 'bad-request', detail })

/** Refuses an order that comes too late. */
export const stopping: Refusal = {
  status: 503,
  code: 'stopping',
  detail: 'the gateway is stopping: nothing is put into effect any more',
}

const written = (keys: readonly string[]): string => `${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}`

const parse = (body: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
