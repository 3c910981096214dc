import type { TellOrder } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'
import { type Listed, Overrides } from './overrides.ts'

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

/** Is what operators have said, and sees that it is in effect. */
export interface KeptOrders {
  readonly overrides: Overrides
  /** Takes over what operators said to another process, from one list to the next. */
  follow(before: Listed, since: Listed): void
}

/** Keeps the orders of a gateway: one that ends of itself, or that another process was given, is put into effect by nobody else. */
export const keepOrders = ({ log, tell, reapply, isOver }: OrdersOptions): KeptOrders => {
  const put = (done: () => void, failed: (error: unknown) => void): void => {
    reapply().then(done, (error) => {
      if (isOver()) return
      failed(error)
      // A worker that hangs has it refused. Nobody else asks for it: a file that says the same puts nothing into effect.
      setTimeout(() => put(done, failed), againMs).unref()
    })
  }
  const overrides = new Overrides(
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
  return {
    overrides,
    follow(before, since) {
      if (!overrides.follow(before, since)) return
      put(
        () => {
          const orders = since.operations.length + since.endpoints.length
          log.info({ orders }, 'orders taken over')
          tell('orders taken over', { orders })
        },
        (err) => log.error({ err }, 'orders could not be taken over'),
      )
    },
  }
}
