import { catalog, type Operation, type OperationId } from '../catalog.ts'
import type { Override } from '../snapshot/overrides.ts'
import type { Desk } from './desk.ts'
import { bad, putIntoEffect, readOrder, stopping } from './orders.ts'
import { isRefusal, type Refusal } from './problem.ts'
import { time } from './time.ts'

/** Tells what was ordered of an operation; `until` is null when the file's word holds. */
export interface OperationDone {
  readonly operation: OperationId
  readonly state: string
  readonly until: string | null
}

/**
 * Takes an operation out of service, or back into it, for a time: the file is not touched, and holds again afterwards. To serve what
 * the file lets serve ends the override at once.
 */
export const override = (desk: Desk, state: Override['state'], body: string): Promise<OperationDone | Refusal> =>
  desk.overrides.inTurn(() => give(desk, state, body))

/** Is an order about an operation, as it was read. */
export interface OperationOrder {
  readonly operation: Operation
  readonly state: Override['state']
  /** For how long; null: from now on the file's word holds, which is the same. */
  readonly ttlMs: number | null
}

/** Reads an order about an operation, and says what speaks against it. */
export const readOperationOrder = (desk: Desk, state: Override['state'], body: string): OperationOrder | Refusal => {
  const order = readOrder(body, { operation: 'inventory.sync' })
  if ('detail' in order) return order
  const operation = catalog.find(({ id }) => id === order.said.operation)
  if (operation === undefined)
    return bad(`operation is expected to be one of ${catalog.map(({ id }) => id).join(', ')}`)
  if (desk.draining()) return stopping
  const back = state === 'serve' && desk.reloader.config.operations[operation.id].state === 'serve'
  return { operation, state, ttlMs: back ? null : order.ttlMs }
}

const give = async (desk: Desk, state: Override['state'], body: string): Promise<OperationDone | Refusal> => {
  const order = readOperationOrder(desk, state, body)
  if (isRefusal(order)) return order
  const {
    operation: { id: operation },
    ttlMs,
  } = order
  const { operations } = desk.overrides
  const before = operations.of(operation)
  const set = ttlMs === null ? null : operations.set(operation, state, ttlMs)
  if (set === null) operations.end(operation)
  const refusal = await putIntoEffect(desk, () => operations.takeBack(operation, before))
  return refusal ?? { operation, state, until: set === null ? null : time(set.until) }
}
