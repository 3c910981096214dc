import { catalog, type OperationId } from '../catalog.ts'
import type { Override } from '../snapshot/overrides.ts'
import { formatDuration, parseDuration } from '../units.ts'
import type { Refusal } from './problem.ts'
import { type Desk, time } from './status.ts'

const defaultTtlMs = 15 * 60_000
const maxTtlMs = 24 * 3_600_000

interface Order {
  readonly operation: OperationId
  readonly ttlMs: number
}

/**
 * Takes an operation out of service, or back into it, for a time: the file is not touched, and holds again afterwards. To serve what
 * the file lets serve ends the override at once.
 */
export const override = async (
  { overrides, reloader, draining }: Desk,
  state: Override['state'],
  body: string,
): Promise<{ readonly operation: OperationId; readonly state: string; readonly until: string | null } | Refusal> => {
  const order = read(body)
  if ('detail' in order) return order
  if (draining()) return stopping
  const { operation, ttlMs } = order
  const back = state === 'serve' && reloader.config.operations[operation].state === 'serve'
  const set = back ? null : overrides.set(operation, state, ttlMs)
  if (back) overrides.end(operation)
  try {
    await reloader.reapply()
  } catch (error) {
    overrides.end(operation)
    if (draining()) return stopping
    throw error
  }
  return { operation, state, until: set === null ? null : time(set.until) }
}

const read = (body: string): Order | Refusal => {
  const given = parse(body)
  if (given === null) return bad('a JSON object is expected, such as {"operation":"inventory.sync","ttl":"15m"}')
  const { operation, ttl, ...more } = given
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) return bad(`${JSON.stringify(unknown.slice(0, 60))} is not known; write operation and ttl`)
  const found = catalog.find(({ id }) => id === operation)
  if (found === undefined) return bad(`operation is expected to be one of ${catalog.map(({ id }) => id).join(', ')}`)
  const ttlMs = ttl === undefined ? defaultTtlMs : typeof ttl === 'string' ? parseDuration(ttl) : undefined
  if (ttlMs === undefined || ttlMs < 1000 || ttlMs > maxTtlMs)
    return bad(`ttl is expected to be a duration from 1s to ${formatDuration(maxTtlMs)}, such as 15m, 30s or 2h`)
  return { operation: found.id, ttlMs }
}

const parse = (body: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

const stopping: Refusal = {
  status: 503,
  code: 'stopping',
  detail: 'the gateway is stopping: nothing is put into effect any more',
}

const bad = (detail: string): Refusal => ({ status: 400, code: 'bad-request', detail })
