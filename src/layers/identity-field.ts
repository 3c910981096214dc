import type { Layer } from '../exchange.ts'
import { withTwins } from '../fields.ts'

/**
 * Removes what clients send in the field that tells upstreams who calls: whoever could write it would be anybody. For every operation,
 * those included that ask nobody who it is.
 */
export const identityField = (name: string): Layer => {
  const folded = withTwins(name)
  return (next) => (exchange) => {
    const { fields } = exchange
    for (let i = 0; i < fields.length; i += 2)
      if (withTwins(fields[i] as string) === folded) {
        exchange.fields = fields.filter((_, at) => withTwins(fields[at - (at % 2)] as string) !== folded)
        break
      }
    return next(exchange)
  }
}
