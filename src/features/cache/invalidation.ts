import type { ListenConfig } from '../../core/config/config.ts'
import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { getFirstFieldValue } from '../../core/exchange/header-fields.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { fieldLines } from './policy/fields.ts'

/** Resolves when Redis has the invalidation, or at its time limit; never rejects. Null: nothing to wait for. */
export type Invalidate = (targets: readonly InvalidationTarget[]) => Promise<void> | null

/** RFC 9111 §4.4. Before the response is sent, so that a client that reads next gets no outdated response. */
export const cacheInvalidationLayer =
  ({ publicUrl, basePath }: Pick<ListenConfig, 'publicUrl' | 'basePath'>, invalidate: Invalidate): Layer =>
  (next) =>
  (exchange) =>
    next(exchange).then((response) => {
      if (response.status < 400 && namesTarget(response)) {
        const { path } = exchange.operation
        const origin = publicUrl === null ? requestOrigin(exchange) : new URL(publicUrl).origin
        const targets = invalidationTargets(response, { origin, basePath, path, query: exchange.query })
        const shared = targets.length > 0 ? invalidate(targets) : null
        if (shared !== null) return shared.then(() => passOn(exchange, response))
      }
      return response
    })

const passOn = ({ aborted }: Exchange, response: ProxyResponse): ProxyResponse => {
  if (aborted === null) return response
  response.body.discard()
  throw aborted
}

const namesTarget = ({ fields }: ProxyResponse): boolean =>
  getFirstFieldValue(fields, 'location') !== undefined || getFirstFieldValue(fields, 'content-location') !== undefined

/** As upstreams see it. An invalid origin becomes an origin that equals no reference's. */
const requestOrigin = ({ fields, authority }: Exchange): string => {
  const host = getFirstFieldValue(fields, 'x-forwarded-host') ?? authority
  const origin = `${getFirstFieldValue(fields, 'x-forwarded-proto') ?? 'http'}://${host}`
  // HTTP/1.0 may lack Host, and a URL cannot have the host `1.2.3.4.5`. Relative references still resolve (RFC 3986
  // §5.2.2).
  return URL.canParse(origin) ? origin : 'http://unnamed.invalid'
}

/** `query`: raw, with its `?`, or empty. */
export interface InvalidationTarget {
  readonly operation: OperationId
  readonly query: string
}

/** `origin`: as the client wrote it: `https://gateway.example`. `path`: without `basePath`. */
interface TargetUri {
  readonly origin: string
  readonly basePath: string
  readonly path: string
  readonly query: string
}

/** RFC 9111 §4.4. Of this origin only: otherwise an upstream could empty other services' caches. */
export const invalidationTargets = (
  { status, fields }: Pick<ProxyResponse, 'status' | 'fields'>,
  uri: TargetUri,
): readonly InvalidationTarget[] => {
  if (status < 200 || status > 399) return []
  const targets: InvalidationTarget[] = []
  for (const reference of [...fieldLines(fields, 'location'), ...fieldLines(fields, 'content-location')]) {
    const target = resolveTarget(reference, uri)
    const isKnown = targets.some(({ operation, query }) => operation === target?.operation && query === target.query)
    if (target !== null && !isKnown) targets.push(target)
  }
  return targets
}

/** RFC 3986 §5. Null: no operation, so nothing is stored for it. */
const resolveTarget = (reference: string, { origin, basePath, path, query }: TargetUri): InvalidationTarget | null => {
  const resolved = URL.parse(reference, `${origin}${basePath}${path}${query}`)
  if (resolved === null || resolved.origin !== URL.parse(origin)?.origin) return null
  const operation = allOperations.find((one) => one.method === 'GET' && resolved.pathname === basePath + one.path)
  // Keys have the raw query, which URL parsing would normalize.
  return operation === undefined
    ? null
    : { operation: operation.id, query: /^[^?#]*(\?[^#]*)?/.exec(reference)?.[1] ?? '' }
}
