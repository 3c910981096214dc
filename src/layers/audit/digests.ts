import { createHash, type Hash, hash } from 'node:crypto'
import type { AnswerBody, BodySink, RequestBody } from '../../exchange.ts'
import type { Digests } from '../../observe/audit/line.ts'

/** Notes the digest of a request's body when the whole of it has come. One that nobody reads has none. */
export const digestRequest = (body: RequestBody, digests: Digests): void => {
  if (body.length === 0) return
  let digest: Hash | null = null
  body.onData = (chunk) => {
    digest ??= createHash('sha256')
    if (chunk === null) digests.request = digest.digest('hex')
    else digest.update(chunk)
  }
}

/** Notes the digest of an answer's body when the whole of it has been handed to whoever writes it. */
export const digestedAnswer = (body: AnswerBody, digests: Digests): AnswerBody => ({
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
