import { catalog } from '../catalog.ts'
import type { Cleared } from '../layers/cache/store.ts'
import type { Desk } from './desk.ts'
import { bad } from './orders.ts'
import type { Refusal } from './problem.ts'

/** Tells what was removed. */
export interface CacheDone {
  readonly operation: string | null
  readonly client: string | null
  /** How many answers. */
  readonly removed: number
}

/**
 * Removes what is stored: all of it, or as far as the query says: `operation`, `client` (an id; empty: what is stored of those whom nobody asked
 * who they are). What is on its way from an upstream meanwhile is not stored.
 */
export const clear = async (desk: Desk, query: string): Promise<CacheDone | Refusal> => {
  const what = readCleared(query)
  if ('detail' in what) return what
  const { removed, unanswered, isTold } = await desk.clear(what)
  if (unanswered > 0) return incomplete(removed, unanswered)
  return isTold ? { ...what, removed } : untold(removed)
}

/** Reads what is to be removed. */
export const readCleared = (query: string): Cleared | Refusal => {
  const given = new URLSearchParams(query)
  const known = ['operation', 'client']
  const unknown = [...given.keys()].find((key) => !known.includes(key) || given.getAll(key).length > 1)
  if (unknown !== undefined)
    return bad(
      `${JSON.stringify(unknown.slice(0, 60))} is not expected; write ?operation=…&client=…, each once at most`,
    )
  const operation = given.get('operation')
  const client = given.get('client')
  if (operation === null) return { operation, client }
  const row = catalog.find(({ id, method }) => id === operation && method === 'GET')
  const expected = catalog.flatMap(({ id, method }) => (method === 'GET' ? [id] : []))
  return row === undefined
    ? bad(`operation is expected to be one of ${expected.join(', ')}`)
    : { operation: row.id, client }
}

const incomplete = (removed: number, unanswered: number): Refusal => ({
  status: 503,
  code: 'workers-not-answering',
  detail: `${removed} were removed, but ${unanswered} of the workers did not answer: what these have stored may still be served; ask again`,
})

const untold = (removed: number): Refusal => ({
  status: 503,
  code: 'redis-not-answering',
  detail: `${removed} were removed here, but Redis did not answer: other gateways may still find there what is meant; it is told as soon as it answers`,
})
