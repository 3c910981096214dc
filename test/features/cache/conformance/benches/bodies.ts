import type { ResponseBody } from '../../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../../src/core/exchange/failures/errors.ts'

/** Creates a body that is whole. */
export const completeBody = (bytes: Buffer): ResponseBody => ({
  isShared: false,
  takeBuffered: () => bytes,
  consume: (sink) => {
    sink.data(bytes)
    sink.end()
  },
  resume: () => {},
  discard: () => {},
})

/** Creates a body that ends in the middle. */
export const truncatedBody = (): ResponseBody => ({
  isShared: false,
  takeBuffered: () => null,
  consume: (sink) => {
    sink.data(Buffer.from('cut'))
    sink.fail(new GatewayError('truncated'))
  },
  resume: () => {},
  discard: () => {},
})
