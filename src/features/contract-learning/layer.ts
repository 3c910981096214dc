import { BodyCopy, copyRequestBody, copyResponseBody } from '../../core/exchange/bodies/body-copy.ts'
import type { RequestBody } from '../../core/exchange/body.ts'
import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import { clientShare } from '../../core/exchange/request-owner.ts'
import { isCoded, isJson, isUtf8Charset, readMediaType } from '../contract/check/media-type.ts'
import { parseStrictJson } from '../contract/check/strict-json.ts'
import type { CheckQueue } from '../contract/check-queue.ts'
import type { ObservedContent } from './learn/learn-message.ts'
import type { Learner } from './learn/learner.ts'

interface ContractLearningOptions {
  readonly learner: Learner
  readonly checks: CheckQueue
  readonly maxBytes: number
}

/** Learns all responses, and requests served with 2xx, from copies that are read later; without room, nothing. */
export const contractLearningLayer =
  (options: ContractLearningOptions): Layer =>
  (next) =>
  (exchange) => {
    const request = copyRequest(exchange, options)
    return next(exchange).then(
      (response) => {
        if (response.status >= 200 && response.status < 300) request.learn()
        else request.copy?.close()
        return learnResponse(exchange, response, options)
      },
      (error) => {
        request.copy?.close()
        throw error
      },
    )
  }

const copyRequest = (exchange: Exchange, { learner, checks, maxBytes }: ContractLearningOptions) => {
  // Inner layers replace the list of fields.
  const { body, fields, operation } = exchange
  const copy =
    body.length === 0 || !isReadable(fields)
      ? null
      : new BodyCopy(maxBytes, clientShare(checks.requests, exchange), body.length)
  let isComplete = copy === null
  const onEnd = (): void => {
    isComplete = true
  }
  if (copy !== null) copyBody(body, copy, onEnd)
  return {
    copy,
    /** Not if the upstream responded before the whole body was sent. */
    learn(): void {
      if (!isComplete) return copy?.close()
      const { query, body } = exchange
      const hasBody = copy === null ? body.length !== 0 : copy.failure !== null || copy.bytes.length > 0
      checks.addFor(copy, () => {
        const content = hasBody ? readContent(fields, copy, '') : noContent
        learner.observeRequest(operation.id, { query, fields, ...content })
      })
    },
  }
}

/** A body whose beginning was buffered still streams, though all of it may have arrived. */
const copyBody = (body: RequestBody, copy: BodyCopy, onEnd: () => void): void => {
  if (!body.received || !body.replayable) return copyRequestBody(body, copy, onEnd)
  body.read().then(
    (chunks) => {
      for (const chunk of chunks) copy.push(chunk)
      onEnd()
    },
    () => copy.close(),
  )
}

const learnResponse = (exchange: Exchange, response: ProxyResponse, options: ContractLearningOptions) => {
  const { learner, checks, maxBytes } = options
  const { status, reason, fields, body } = response
  // RFC 9110 §15.3.7: a part of a body says nothing of the whole.
  if (exchange.attempts.last?.mayBeCut === true) return response
  const copy =
    isReadable(fields) && status !== 206 ? new BodyCopy(maxBytes, clientShare(checks.responses, exchange)) : null
  const observe = (): void =>
    learner.observeResponse(exchange.operation.id, { status, ...readContent(fields, copy, null) })
  const learn = (): void => void checks.addFor(copy, observe)
  if (copy !== null) return { status, reason, fields, body: copyResponseBody(body, copy, learn) }
  learn()
  return response
}

const noContent: ObservedContent = { contentType: null, body: undefined }

const isReadable = (fields: HeaderFields): boolean => {
  const mediaType = readMediaType(fields)
  if (mediaType === null || mediaType === 'several') return false
  return isJson(mediaType.type) && isUtf8Charset(mediaType.parameters) && !isCoded(fields)
}

/** `untyped`: the type without Content-Type. */
const readContent = (fields: HeaderFields, copy: BodyCopy | null, untyped: string | null): ObservedContent => {
  const mediaType = readMediaType(fields)
  const contentType = mediaType === 'several' ? '' : (mediaType?.type ?? untyped)
  if (copy === null || copy.failure !== null) return { contentType, body: undefined }
  const parsed = parseStrictJson(copy.bytes)
  return { contentType, body: 'fault' in parsed ? undefined : parsed.value }
}
