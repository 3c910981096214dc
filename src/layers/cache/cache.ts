import { wallClock } from '../../clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Answer, Exchange, Layer } from '../../exchange.ts'
import { Asking } from './asking.ts'
import type { Notices } from './notices.ts'
import type { Part } from './part.ts'
import { hitStatus, refusedStatus } from './policy/cache-status.ts'
import { bypassReason, type CacheRequest, readRequest } from './policy/request.ts'
import { reuse } from './policy/reuse.ts'
import type { CacheRules } from './policy/rules.ts'
import { select } from './policy/selecting.ts'
import { storedFields } from './policy/serving.ts'
import { answerWhole, forwardedFor, nameOf, note } from './serving.ts'

/**
 * Answers from memory what RFC 9111 allows to be answered from there. Outside the deadline, so that a hit is never timed out; inside of what
 * asks who calls and counts clients. What the upstream is asked for is one fetch for all who want the same, and no client's alone. Whatever
 * goes wrong in here, the request is forwarded as if there were no cache.
 */
export const cache =
  (rules: CacheRules, part: Part, notices: Notices): Layer =>
  (next) => {
    const asking = new Asking(next, rules, part, notices, ({ exchange, request, key, patience }) =>
      look(exchange, request, key, patience - 1),
    )

    /** Answers from what is stored, or asks. `patience`: how often it may wait for what another asks for. */
    const look = (exchange: Exchange, request: CacheRequest, key: string, patience: number): Promise<Answer> => {
      const at = wallClock()
      const variants = part.find(key)?.variants
      const stored = variants === undefined ? null : select(variants, request)
      const verdict = stored === null ? null : reuse(stored.head, request, at)
      if (stored === null || verdict === null) {
        if (request.onlyIfCached) return refused()
        const why = variants === undefined ? 'uri-miss' : 'vary-miss'
        const varies = variants?.[0]?.head.varies ?? null
        return asking.want({ exchange, request, key, at, stored: null, varies, why, patience })
      }
      const { head, body } = stored
      if (verdict.kind === 'refuse') return refused()
      if (verdict.kind === 'fetch')
        return asking.want({ exchange, request, key, at, stored, varies: head.varies, why: verdict.why, patience })
      const answer = answerWhole(head, body, request, storedFields(head, at))
      part.lend(exchange, body)
      if (verdict.kind === 'stale' && verdict.revalidate) asking.refresh(exchange, request, key, stored, at)
      note(exchange, part, verdict.kind === 'fresh' ? 'hit' : 'stale', hitStatus(head.freshUntil - at))
      return Promise.resolve(answer)
    }

    return (exchange) => {
      try {
        const { fields, authority, body, sender, identity } = exchange
        // No upstream sees the certificate. Where it has been asked for, the client's id is in the key.
        const hasCertificate = identity === null && sender.certificate() !== null
        const facts = { authority, hasBody: body.length !== 0, hasCertificate }
        const request = readRequest(fields, facts, rules)
        if (bypassReason(request, rules) === null)
          return look(exchange, request, part.keyOf(nameOf(exchange, request)), 2)
        if (request.onlyIfCached) return refused()
        note(exchange, part, 'bypass', forwardedFor('bypass'))
      } catch (error) {
        notices.broken(error)
      }
      return next(exchange)
    }
  }

/** RFC 9111 §5.2.1.7 */
const refused = (): Promise<never> =>
  Promise.reject(new GatewayError('not-cached', { fields: ['Cache-Status', refusedStatus] }))
