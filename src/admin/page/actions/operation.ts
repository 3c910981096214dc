import { readOperationOrder } from '../../operations.ts'
import { isRefusal } from '../../problem.ts'
import { html } from '../html.ts'
import type { Action, Said } from './action.ts'
import { paragraphs, spoken, untilThen } from './words.ts'

const takes = ['operation', 'ttl']
const body = (said: Said): string => JSON.stringify(said)

/** Takes an operation out of service for a while. */
export const refuse: Action = {
  name: 'refuse',
  takes,
  async ask(desk, said) {
    const order = readOperationOrder(desk, 'refuse', body(said))
    if (isRefusal(order)) return order
    const { operation, ttlMs } = order
    const isRefused = desk.reloader.config.operations[operation.id].state === 'refuse'
    return {
      title: `Refuse ${operation.id}?`,
      what: paragraphs(
        html`Every client of ${operation.method} ${operation.path} is answered 503 for ${spoken(ttlMs ?? 0)}, with Retry-After. Requests under way are finished.`,
        isRefused
          ? 'The file refuses it as well, and goes on to do so after that time.'
          : 'After that time it serves again, as the file says. To end it before, have it serve.',
      ),
      ttlMs,
      button: 'Refuse it',
    }
  },
  async act(orders, said) {
    const done = await orders.operation('refuse', body(said))
    return isRefusal(done) ? done : `${done.operation} is refused${untilThen(done.until)}.`
  },
}

/** Puts an operation back into service. */
export const serve: Action = {
  name: 'serve',
  takes,
  async ask(desk, said) {
    const order = readOperationOrder(desk, 'serve', body(said))
    if (isRefusal(order)) return order
    const { operation, ttlMs } = order
    return {
      title: `Serve ${operation.id}?`,
      what: paragraphs(
        ttlMs === null
          ? html`${operation.method} ${operation.path} is served from now on, as the file says.`
          : html`The file refuses ${operation.id}. ${operation.method} ${operation.path} is served all the same for ${spoken(ttlMs)}, and then refused again.`,
      ),
      ttlMs,
      button: 'Serve it',
    }
  },
  async act(orders, said) {
    const done = await orders.operation('serve', body(said))
    return isRefusal(done) ? done : `${done.operation} is served${untilThen(done.until)}.`
  },
}
