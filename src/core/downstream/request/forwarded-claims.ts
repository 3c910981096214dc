import type { ListenConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { type Peer, type TrustedProxyMatcher, walkForwardedFor } from '../listener/peer.ts'
import { asProto, parseLastElement, renderElement } from './forwarded-element.ts'
import type { ForwardedFields } from './request-head.ts'

/** What is believed of what proxies say by `Forwarded`. */
export interface ForwardedClaims {
  readonly client: string
  /** What the gateway's own fields are made of. */
  readonly fields: ForwardedFields
  /** Renders `Forwarded` with the gateway's own hop. */
  render(secure: boolean, authority: string): string
  /** Rejects a request about whose client the proxies contradict themselves; null: they do not. */
  readonly error: GatewayError | null
}

export type ReadForwarded = (peer: Peer, fields: ForwardedFields) => ForwardedClaims

interface Walk {
  /** The addresses that were found, the nearest first; the last one is the client's. */
  readonly addresses: readonly string[]
  readonly proto: string | null
  readonly host: string | null
}

/** Compiles how `Forwarded` is read; null: it is not, and X-Forwarded-For alone says who the client is. */
export const compileForwarded = (
  mode: ListenConfig['forwarded'],
  isTrusted: TrustedProxyMatcher,
): ReadForwarded | null => {
  if (mode === 'x-forwarded') return null
  return (peer, fields) => {
    const byForwarded = fields.forwarded === null ? null : walkForwarded(fields.forwarded, isTrusted)
    const readsXForwarded = mode === 'both' && (fields.for !== null || byForwarded === null)
    const byXForwarded = readsXForwarded
      ? { ...fields, addresses: walkForwardedFor(fields.for ?? '', isTrusted) }
      : null
    // One of the two is what a client wrote then, and nothing tells which.
    if (byForwarded !== null && byXForwarded !== null && contradict(byForwarded, byXForwarded))
      return toClaims(peer, emptyWalk, new GatewayError('bad-request', { reason: 'forwarded-contradiction' }))
    return toClaims(peer, byForwarded ?? byXForwarded ?? emptyWalk, null)
  }
}

const emptyWalk: Walk = { addresses: [], proto: null, host: null }

/** Tells whether two fields name different clients, or say different things of how it has come. */
const contradict = (one: Walk, other: Walk): boolean =>
  one.addresses.at(-1) !== other.addresses.at(-1) || differ(one.proto, other.proto) || differ(one.host, other.host)

const differ = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.toLowerCase() !== other.toLowerCase()

/** Walks over the elements from the last one: up to the first that no trusted proxy is named by. */
const walkForwarded = (field: string, isTrusted: TrustedProxyMatcher): Walk => {
  const addresses: string[] = []
  let [proto, host]: [string | null, string | null] = [null, null]
  for (let end = field.length; end >= 0; ) {
    const element = parseLastElement(field, end)
    if (element === null) break
    // A trusted proxy has written it, even if it does not say whose hop it was.
    proto = element.proto ?? proto
    host = element.host ?? host
    if (element.for === null) break
    addresses.push(element.for)
    if (!isTrusted(element.for)) break
    end = element.end
  }
  return { addresses, proto, host }
}

const toClaims = (peer: Peer, { addresses, proto, host }: Walk, error: GatewayError | null): ForwardedClaims => {
  const hops = addresses.toReversed()
  return {
    client: hops[0] ?? peer.address,
    fields: { for: hops.length === 0 ? null : hops.join(', '), proto, host, forwarded: null },
    render(secure, authority) {
      const [first = '', ...others] = [...hops, peer.address]
      const ownHost = host ?? (authority === '' ? null : authority)
      const element = renderElement(first, asProto(proto) ?? (secure ? 'https' : 'http'), ownHost)
      return [element, ...others.map((address) => renderElement(address, null, null))].join(', ')
    },
    error,
  }
}
