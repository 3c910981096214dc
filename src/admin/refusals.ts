import type { OperationId } from '../catalog.ts'
import { catalog } from '../catalog.ts'
import type { ListenConfig } from '../config/config.ts'
import { differenceOf } from '../config/differs.ts'
import type { Kind } from '../failures/kinds.ts'
import { failureText, reasonText } from '../failures/reasons.ts'
import type { Refusal } from '../observe/refusals/refusals.ts'
import { lastOf } from './findings/words.ts'
import { time } from './time.ts'

/** Tells of a request that the gateway answered with an error of its own. Nothing in it is what the client wrote, but for the id. */
export interface RefusalView {
  readonly at: string
  readonly requestId: string
  /** The client's address. */
  readonly client: string
  /** As `clients` names it; null: nobody asked, or nobody knows. */
  readonly clientId: string | null
  /** Null: no request could be parsed. */
  readonly method: string | null
  /** Null: it was none of the nine. */
  readonly operation: OperationId | null
  /** Null: it was sent nowhere. */
  readonly endpoint: string | null
  readonly status: number
  readonly kind: Kind
  /** In words. */
  readonly reason: string
  readonly traceId: string | null
}

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
