import { catalog, type OperationId } from '../catalog.ts'
import type { Override } from '../snapshot/overrides.ts'
import type { Desk } from './desk.ts'
import { bad, putIntoEffect, readOrder, stopping } from './orders.ts'
import type { Refusal } from './problem.ts'
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

const give = async (desk: Desk, state: Override['state'], body: string): Promise<OperationDone | Refusal> => {
  const order = readOrder(body, { operation: 'inventory.sync' })
  if ('detail' in order) return order
  const found = catalog.find(({ id }) => id === order.said.operation)
  if (found === undefined) return bad(`operation is expected to be one of ${catalog.map(({ id }) => id).join(', ')}`)
  if (desk.draining()) return stopping
  const { id: operation } = found
  const { operations } = desk.overrides
  const back = state === 'serve' && desk.reloader.config.operations[operation].state === 'serve'
  const before = operations.of(operation)
  const set = back ? null : operations.set(operation, state, order.ttlMs)
  if (back) operations.end(operation)
  const refusal = await putIntoEffect(desk, () => operations.takeBack(operation, before))
  return refusal ?? { operation, state, until: set === null ? null : time(set.until) }
}
