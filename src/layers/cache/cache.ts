import { wallClock } from '../../clock.ts'
import type { Answer, Exchange, Layer } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { Asking, isForOneAlone } from './asking.ts'
import type { Notices, Refreshing, SecondLevel, Sighting } from './fetching.ts'
import type { Part } from './part.ts'
import { forwardedStatus, hitStatus, refusedStatus } from './policy/cache-status.ts'
import { bypassReason, type CacheRequest, type CacheRules, readRequest } from './policy/request.ts'
import { reuse } from './policy/reuse.ts'
import { select } from './policy/selecting.ts'
import { storedFields } from './policy/serving.ts'
import { answerWhole, nameOf, note } from './serving.ts'
import type { Stored } from './stored.ts'

/**
 * Answers from memory what RFC 9111 allows to be answered from there. Outside the deadline, so that a hit is never timed out; inside of what
 * asks who calls and counts clients. What the upstream is asked for is one fetch for all who want the same, and no client's alone. Whatever
 * goes wrong in here, the request is forwarded as if there were no cache. `second`: where other gateways find what this one has stored; null:
 * nowhere.
 */
export const cache =
  (rules: CacheRules, part: Part, notices: Notices, second: SecondLevel | null = null): Layer =>
  (next) => {
    const asking = new Asking({ next, rules, part, notices }, ({ exchange, request, key, patience, sighting }) =>
      look(exchange, request, key, patience - 1, sighting),
    )
    const unasked = second === null ? null : 'unasked'

    /** Answers from what is stored, or asks. `patience`: how often it may wait for what another asks for. */
    const look = (
      exchange: Exchange,
      request: CacheRequest,
      key: string,
      patience: number,
      sighting: Sighting | null | 'unasked',
    ): Promise<Answer> => {
      const at = wallClock()
      const variants = part.find(key)?.variants
      const stored = variants === undefined ? null : select(variants, request)
      const verdict = stored === null ? null : reuse(stored.head, request, at)
      const isMissed = verdict === null || verdict.kind === 'fetch' || verdict.kind === 'refuse'
      if (sighting === 'unasked' && isMissed) return lookFurther(exchange, request, key, patience, stored)
      const sighted = sighting === 'unasked' ? null : sighting
      if (stored === null || verdict === null || verdict.kind === 'fetch') {
        if (request.onlyIfCached) return refused()
        const why = verdict?.kind === 'fetch' ? verdict.why : variants === undefined ? 'uri-miss' : 'vary-miss'
        const varies = (stored ?? variants?.[0])?.head.varies ?? null
        return asking.want({ exchange, request, key, at, stored, varies, why, patience, sighting: sighted })
      }
      if (verdict.kind === 'refuse') return refused()
      const { head, body } = stored
      const answer = answerWhole(head, body, request, storedFields(head, at))
      part.lend(exchange, body)
      if (verdict.kind === 'stale' && verdict.revalidate) refresh({ exchange, request, key, stored, at })
      note(exchange, part, verdict.kind === 'fresh' ? 'hit' : 'stale', hitStatus(head.freshUntil - at))
      return Promise.resolve(answer)
    }

    /** Looks again when the second level has brought what it has, once: nobody waits for it twice. */
    const lookFurther = (
      exchange: Exchange,
      request: CacheRequest,
      key: string,
      patience: number,
      stored: Stored | null,
    ): Promise<Answer> => {
      const sighting = sight(exchange, request, key)
      // What the upstream has to be asked about anyhow is not waited for.
      const isOfNoUse = request.noCache || (stored !== null && isForOneAlone(stored))
      if (sighting === null || isOfNoUse) return look(exchange, request, key, patience, sighting)
      return sighting.brought.then(() => {
        if (exchange.aborted !== null) throw exchange.aborted
        try {
          return look(exchange, request, key, patience, sighting)
        } catch (error) {
          notices.broken(error)
          return next(exchange)
        }
      })
    }

    const refresh = (refreshing: Refreshing): void => {
      if (second === null) return asking.refresh(refreshing, null)
      if (!asking.mayRefresh(refreshing)) return
      const { exchange, request, key } = refreshing
      const sighting = sight(exchange, request, key)
      if (sighting === null) return asking.refresh(refreshing, null)
      const look = (): void => {
        const at = wallClock()
        const stored = select(part.find(key)?.variants ?? [], request) ?? refreshing.stored
        if (reuse(stored.head, request, at).kind !== 'fresh') asking.refresh({ ...refreshing, stored, at }, sighting)
      }
      sighting.brought.then(look).catch((error) => notices.broken(error))
    }

    const sight = (exchange: Exchange, request: CacheRequest, key: string): Sighting | null =>
      second === null || part.uncacheable.has(key) ? null : second.sight(nameOf(exchange, request), key, request)

    return (exchange) => {
      try {
        const { fields, authority, body, sender, identity } = exchange
        // No upstream sees the certificate. Where it has been asked for, the client's id is in the key.
        const hasCertificate = identity === null && sender.certificate() !== null
        const facts = { authority, hasBody: body.length !== 0, hasCertificate }
        const request = readRequest(fields, facts, rules)
        const detail = bypassReason(request, rules)
        if (detail === null) return look(exchange, request, part.keyOf(nameOf(exchange, request)), 2, unasked)
        if (request.onlyIfCached) return refused()
        note(exchange, part, 'bypass', forwardedStatus({ why: 'bypass', detail }))
      } catch (error) {
        notices.broken(error)
      }
      return next(exchange)
    }
  }

/** RFC 9111 §5.2.1.7 */
const refused = (): Promise<never> =>
  Promise.reject(new GatewayError('not-cached', { fields: ['Cache-Status', refusedStatus] }))
