import type { Layer } from '../../exchange.ts'
import { overloaded } from '../../failures/errors.ts'

/**
 * Sheds load while the event loop is late: what is behind, new exchanges would only make later, their own refusal included. Outermost, before
 * anything is counted or looked up for them.
 */
export const loadShedding =
  (loop: { readonly sheds: boolean }): Layer =>
  (next) =>
  (exchange) =>
    loop.sheds ? Promise.reject(overloaded('event-loop')) : next(exchange)
