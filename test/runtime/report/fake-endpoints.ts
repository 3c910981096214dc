/** Endpoints that fail as a test says, without a socket: what stands on them can then be watched by a fake clock. */
import { vi } from 'vitest'
import { GatewayError } from '../../../src/failures/errors.ts'
import { connectFailedError } from '../../../src/upstream/classify-error.ts'
import { Endpoint } from '../../../src/upstream/endpoints/endpoint.ts'
import type { ConnectionWaiter, ResponseHandler, UpstreamConnection } from '../../../src/upstream/http1/connection.ts'

/** Ends a request that was given to an endpoint, now or never. */
export type Manner = (user: ConnectionWaiter) => void

/** Fails before anything is sent. */
const unsent =
  (make: () => GatewayError): Manner =>
  (user) =>
    user.onError(make())

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code })

export const refuses = unsent(() => connectFailedError(coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')))

export const expired = unsent(
  () =>
    new GatewayError('tls-failed', {
      reason: 'certificate-expired',
      cause: coded('CERT_HAS_EXPIRED', 'certificate has expired'),
    }),
)

export const nameless = unsent(() => connectFailedError(coded('ENOTFOUND', 'getaddrinfo ENOTFOUND risk.invalid')))

/** Makes a connection on which `sent` says what comes back. */
export const connectionThat = (sent: (handler: ResponseHandler) => void): UpstreamConnection =>
  ({
    send: (handler: ResponseHandler) => sent(handler),
    hasWritten: true,
    isStale: false,
    pause: () => {},
    resume: () => {},
    abort: () => {},
  }) as unknown as UpstreamConnection

/** Takes the request and says nothing, until it is given up. */
export const hangs: Manner = (user) => void user.onConnection(connectionThat(() => {}))

/** Answers with a status and no body. */
export const answers =
  (status: number): Manner =>
  (user) =>
    void user.onConnection(
      connectionThat((handler) => {
        handler.onHead(status, '', [])
        handler.onEnd()
      }),
    )

/** Has every endpoint do as `mannerOf` says by its name, until the test has restored its mocks. */
export const fakeEndpoints = (mannerOf: (name: string) => Manner): void => {
  vi.spyOn(Endpoint.prototype, 'acquire').mockImplementation(function acquire(this: Endpoint, user: ConnectionWaiter) {
    queueMicrotask(() => mannerOf(this.name)(user))
  })
}
