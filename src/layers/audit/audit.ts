import { createHash, type Hash, hash } from 'node:crypto'
import type { AuditConfig } from '../../config/config.ts'
import type { AnswerBody, BodySink, Handle, Layer, RequestBody } from '../../exchange.ts'
import { auditUnavailable } from '../../failures/errors.ts'
import type { Auditor, Digests } from '../../observe/audit/line.ts'

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

/** Notes the digest of a request's body when the whole of it has come. One that nobody reads has none. */
const digestRequest = (body: RequestBody, digests: Digests): void => {
  if (body.length === 0) return
  let digest: Hash | null = null
  body.onData = (chunk) => {
    digest ??= createHash('sha256')
    if (chunk === null) digests.request = digest.digest('hex')
    else digest.update(chunk)
  }
}

/** Notes the digest of an answer's body when the whole of it has been handed to whoever writes it. */
const digestedAnswer = (body: AnswerBody, digests: Digests): AnswerBody => ({
  lasting: body.lasting,
  whole() {
    const whole = body.whole()
    if (whole !== null) digests.answer = hash('sha256', whole)
    return whole
  },
  consume: (sink) => body.consume(digestingSink(sink, digests)),
  resume: () => body.resume(),
  discard: () => body.discard(),
})

const digestingSink = (sink: BodySink, digests: Digests): BodySink => {
  const digest = createHash('sha256')
  return {
    data(chunk) {
      digest.update(chunk)
      return sink.data(chunk)
    },
    end() {
      digests.answer = digest.digest('hex')
      sink.end()
    },
    fail: (error) => sink.fail(error),
  }
}
