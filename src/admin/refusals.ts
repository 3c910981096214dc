import type { OperationId } from '../catalog.ts'
import { catalog } from '../catalog.ts'
import type { ListenConfig } from '../config/config.ts'
import { differenceOf } from '../config/differs.ts'
import type { Kind } from '../failures/kinds.ts'
import { failureText, reasonText } from '../failures/reasons.ts'
import type { Refusal } from '../observe/refusals/refusals.ts'
import { nullable, number, type Shaped, shape, text, word } from '../shared/shape.ts'
import { lastOf } from './findings/finding.ts'
import { time } from './time.ts'

/** Reads of a request that the gateway answered with an error of its own. Nothing in it is what the client wrote, but for the id. */
export const refusalShape = shape({
  at: text,
  requestId: text,
  /** The client's address. */
  client: text,
  /** As `clients` names it; null: it was not asked, or is not known. */
  clientId: nullable(text),
  /** Null: no request could be parsed. */
  method: nullable(text),
  /** Null: it was none of the nine. */
  operation: nullable(word<OperationId>()),
  /** Null: it was sent nowhere. */
  endpoint: nullable(text),
  status: number,
  kind: word<Kind>(),
  /** In words. */
  reason: text,
  traceId: nullable(text),
})

/** A request that the gateway answered with an error of its own. */
export type RefusalView = Shaped<typeof refusalShape>

/** Tells of a refusal, as far as it may be shown. */
export const refusalView = (refusal: Refusal, listen: ListenConfig): RefusalView => {
  const { requestId, client, clientId, method, operation, endpoint, status, kind, traceId } = refusal
  const told = { requestId, client, clientId, method, operation, endpoint, status, kind, traceId }
  return { at: time(refusal.at), ...told, reason: wordsOf(refusal, listen) }
}

const wordsOf = ({ kind, reason, because, method, path }: Refusal, listen: ListenConfig): string => {
  if (reason !== null && because !== null) return `${reasonText(reason)}, because ${lastOf(because, because.endpoint)}`
  if (reason !== null) return reasonText(reason)
  if (path === null) return failureText(kind, null)
  if (kind === 'not-found') {
    const base = { basePath: listen.basePath, baseKey: 'listen.basePath', show: hidden }
    const { differs, meant } = differenceOf(path, base)
    const near = meant === null ? '' : `; probably meant: ${meant.method} ${listen.basePath}${meant.path}`
    return differs.join('; ') + near
  }
  const known = catalog.find((each) => listen.basePath + each.path === path)
  if (kind === 'method-not-allowed' && known !== undefined) return `${known.path} takes ${known.method}, not ${method}`
  return failureText(kind, null)
}

/** What a client wrote may be a secret in the wrong place. */
const hidden = (): string => '…'
