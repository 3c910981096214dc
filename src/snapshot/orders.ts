import type { TellOrder } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'
import { Overrides } from './overrides.ts'

// An order whose time is over is in effect no longer than it has to be.
const againMs = 1000

interface OrdersOptions {
  readonly log: Log
  readonly tell: TellOrder
  /** Puts into effect what holds by now. */
  reapply(): Promise<void>
  /** Tells whether nothing is put into effect any more. */
  isOver(): boolean
}

/** Keeps the orders of a gateway, and puts into effect that one has ended of itself. */
export const keepOrders = ({ log, tell, reapply, isOver }: OrdersOptions): Overrides => {
  const put = (done: () => void, failed: (error: unknown) => void): void => {
    reapply().then(done, (error) => {
      if (isOver()) return
      failed(error)
      // A worker that hangs has it refused. Nobody else asks for it: a file that says the same puts nothing into effect.
      setTimeout(() => put(done, failed), againMs).unref()
    })
  }
  return new Overrides(
    (operation) =>
      put(
        () => {
          log.info({ operation }, 'override ended')
          tell('override ended', { operation })
        },
        (err) => log.error({ operation, err }, 'an override could not be ended'),
      ),
    (order) =>
      put(
        () => {
          log.info(order, 'endpoint order ended')
          tell('endpoint order ended', order)
        },
        (err) => log.error({ ...order, err }, 'an endpoint order could not be ended'),
      ),
  )
}
