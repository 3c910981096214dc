/** Endpoints that fail as a test says, without a socket: a fake clock can then drive what uses them. */
import { vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { connectFailedError } from '../../../../src/core/upstream/classify-error.ts'
import { Endpoint } from '../../../../src/core/upstream/endpoints/endpoint.ts'
import type {
  ConnectionWaiter,
  ResponseHandler,
  UpstreamConnection,
} from '../../../../src/core/upstream/http1/connection.ts'

/** What an endpoint does with a request, now or never. */
export type Behavior = (waiter: ConnectionWaiter) => void

/** Fails before anything is sent. */
const unsent =
  (make: () => GatewayError): Behavior =>
  (waiter) =>
    waiter.onError(make())

const withCode = (code: string, message: string): Error => Object.assign(new Error(message), { code })

export const refusesConnections = unsent(() =>
  connectFailedError(withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')),
)

export const certificateExpired = unsent(
  () =>
    new GatewayError('tls-failed', {
      reason: 'certificate-expired',
      cause: withCode('CERT_HAS_EXPIRED', 'certificate has expired'),
    }),
)

export const hostNotFound = unsent(() =>
  connectFailedError(withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND risk.invalid')),
)

/** Creates a connection on which `onSend` decides the response. */
const fakeConnection = (onSend: (handler: ResponseHandler) => void): UpstreamConnection =>
  ({
    send: (handler: ResponseHandler) => onSend(handler),
    hasWritten: true,
    isStale: false,
    pause: () => {},
    resume: () => {},
    abort: () => {},
  }) as unknown as UpstreamConnection

/** Accepts the request and stays silent, until it is aborted. */
export const hangs: Behavior = (waiter) => void waiter.onConnection(fakeConnection(() => {}))

/** Responds with a status and no body. */
export const respondsWith =
  (status: number): Behavior =>
  (waiter) =>
    void waiter.onConnection(
      fakeConnection((handler) => {
        handler.onHead(status, '', [])
        handler.onEnd()
      }),
    )

/** Makes every endpoint behave as `behaviorOf` says by its name, until the test has restored its mocks. */
export const fakeEndpoints = (behaviorOf: (name: string) => Behavior): void => {
  vi.spyOn(Endpoint.prototype, 'acquire').mockImplementation(function acquire(
    this: Endpoint,
    waiter: ConnectionWaiter,
  ) {
    queueMicrotask(() => behaviorOf(this.name)(waiter))
  })
}
