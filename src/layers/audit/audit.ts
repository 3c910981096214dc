import type { AuditConfig } from '../../config/config.ts'
import type { Handle, Layer } from '../../exchange.ts'
import { auditUnavailable } from '../../failures/errors.ts'
import type { Auditor } from '../../observe/audit/auditor.ts'
import { digestedAnswer, digestRequest } from './digests.ts'

/**
 * Refuses what would leave no record, and takes the digests of bodies. Outermost, so that whatever the other layers spend is not spent
 * on what is refused, and what is digested is what went to the client and came from it. Null: neither is asked for.
 */
export const audit = ({ onFailure, digests }: AuditConfig, auditor: Auditor): Layer | null => {
  const [ofRequest, ofAnswer] = [
    digests === 'request' || digests === 'both',
    digests === 'answer' || digests === 'both',
  ]
  const refuses = onFailure === 'refuse'
  if (digests === 'none') return refuses ? (next) => (exchange) => (auditor.failing ? refused() : next(exchange)) : null
  return (next): Handle =>
    (exchange) => {
      if (refuses && auditor.failing) return refused()
      const taken = { request: null, answer: null }
      exchange.digests = taken
      if (ofRequest) digestRequest(exchange.body, taken)
      if (!ofAnswer) return next(exchange)
      return next(exchange).then((answer) => ({ ...answer, body: digestedAnswer(answer.body, taken) }))
    }
}

const refused = (): Promise<never> => Promise.reject(auditUnavailable())
