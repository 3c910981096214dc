import type { AnswerBody } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'

/** Makes a body that has arrived. */
export const arrived = (bytes: Buffer): AnswerBody => ({
  lasting: false,
  whole: () => bytes,
  consume: (sink) => {
    sink.data(bytes)
    sink.end()
  },
  resume: () => {},
  discard: () => {},
})

/** Makes a body that ends in the middle. */
export const cut = (): AnswerBody => ({
  lasting: false,
  whole: () => null,
  consume: (sink) => {
    sink.data(Buffer.from('cut'))
    sink.fail(new GatewayError('truncated'))
  },
  resume: () => {},
  discard: () => {},
})
