import type { Layer } from '../../core/exchange/exchange.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'

/**
 * Removes the field that names the client to upstreams from a client's request: with it, a client could take any
 * identity. This holds for every operation, also for those without authentication.
 */
export const stripIdentityHeaderLayer = (name: string): Layer => {
  const folded = foldUnderscores(name)
  return (next) => (exchange) => {
    const { fields } = exchange
    for (let i = 0; i < fields.length; i += 2)
      if (foldUnderscores(fields[i] as string) === folded) {
        exchange.fields = fields.filter((_, at) => foldUnderscores(fields[at - (at % 2)] as string) !== folded)
        break
      }
    return next(exchange)
  }
}
