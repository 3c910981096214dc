import type { Answer, Exchange, Layer } from '../../exchange.ts'
import { firstValue } from '../../fields.ts'
import { invalidated, type Target } from './policy/invalidating.ts'

/** Says where the operations stand. */
export interface Site {
  /** `{base_url}` as clients write it, where the configuration says so; null: as each request has it. */
  readonly publicUrl: string | null
  readonly basePath: string
}

/**
 * Removes what an unsafe request that succeeded has made invalid (RFC 9111 §4.4), before its answer goes out: who has it asks again and is not
 * given what was before.
 */
export const invalidate =
  ({ publicUrl, basePath }: Site, remove: (targets: readonly Target[]) => void): Layer =>
  (next) =>
  (exchange) =>
    next(exchange).then((answer) => {
      if (answer.status < 400 && namesOthers(answer)) {
        const { path } = exchange.operation
        const origin = publicUrl === null ? originOf(exchange) : new URL(publicUrl).origin
        const targets = invalidated(answer, { origin, basePath, path, query: exchange.query })
        if (targets.length > 0) remove(targets)
      }
      return answer
    })

const namesOthers = ({ fields }: Answer): boolean =>
  firstValue(fields, 'location') !== undefined || firstValue(fields, 'content-location') !== undefined

/** Takes what the gateway itself tells upstreams of how it was asked. */
const originOf = ({ fields, authority }: Exchange): string =>
  `${firstValue(fields, 'x-forwarded-proto') ?? 'http'}://${firstValue(fields, 'x-forwarded-host') ?? authority}`
