import { expect, test } from 'vitest'
import type { ActiveRequest } from '../../../src/downstream/request/active-request.ts'
import { relayResponse } from '../../../src/downstream/response/relay.ts'
import type { ProxyResponse } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'
import { ObservedResponseBody } from '../../../src/shared/bodies/observed-response-body.ts'
import { ResponseBodyQueue } from '../../../src/upstream/attempt/response-body-queue.ts'

/** A response on its way, as a layer observes it that must know when it is over; and the attempt that is aborted. */
const observed = () => {
  const ends: string[] = []
  const queue = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  queue.push(Buffer.from('the beginning'))
  const body = new ObservedResponseBody(queue, {
    onChunk: () => {},
    onWhole: () => {},
    onEnd: () => ends.push('whole'),
    onCut: () => ends.push('cut'),
  })
  const response: ProxyResponse = { status: 999, reason: '', fields: [], body }
  return { response, ends, abort: (reason: GatewayError) => queue.fail(reason) }
}

/** A request whose response is written as `response` has it. */
const activeRequest = (response: object, abort: (reason: GatewayError) => void = () => {}): ActiveRequest =>
  ({
    response,
    abort,
    request: { method: 'GET', complete: true },
    snapshot: { config: { requestId: { header: null } } },
    head: { interactionId: null },
    body: null,
    exchange: null,
    draining: () => false,
  }) as unknown as ActiveRequest

test('layers are told that a response is over whose client left before any of it was written', () => {
  const { response, ends, abort } = observed()
  abort(new GatewayError('client-gone'))

  relayResponse(activeRequest({ destroyed: true }), response, '1.1 gateway')

  expect(ends).toEqual(['cut'])
})

test('layers are told that a response is over whose head cannot be written', () => {
  const { response, ends, abort } = observed()
  const statuses: number[] = []
  const written = {
    destroyed: false,
    headersSent: false,
    isHeadOfLine: true,
    isFlushed: true,
    writeFields: (status: number) => {
      if (status > 599) throw new RangeError('HTTP/2 has no such status')
      statuses.push(status)
    },
    end: () => {},
  }

  relayResponse(activeRequest(written, abort), response, '1.1 gateway')

  expect([statuses, ends]).toEqual([[502], ['cut']])
})
