import type { ResponseBody } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'

/** Makes a body that has arrived. */
export const arrived = (bytes: Buffer): ResponseBody => ({
  isShared: false,
  takeBuffered: () => bytes,
  consume: (sink) => {
    sink.data(bytes)
    sink.end()
  },
  resume: () => {},
  discard: () => {},
})

/** Makes a body that ends in the middle. */
export const cut = (): ResponseBody => ({
  isShared: false,
  takeBuffered: () => null,
  consume: (sink) => {
    sink.data(Buffer.from('cut'))
    sink.fail(new GatewayError('truncated'))
  },
  resume: () => {},
  discard: () => {},
})
