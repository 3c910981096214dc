/** Endpoints that fail as a test says, without a socket: what stands on them can then be watched by a fake clock. */
import { vi } from 'vitest'
import { GatewayError } from '../../src/errors.ts'
import type { EndpointHandler } from '../../src/upstream/connection.ts'
import { Endpoint, type EndpointRequest } from '../../src/upstream/endpoint.ts'

/** Ends a request that was given to an endpoint, now or never. */
export type Manner = (handler: EndpointHandler) => void

type Controller = Parameters<EndpointHandler['onResponseStart'] & object>[0]

const controllerOf = (handler: EndpointHandler): Controller => {
  const controller = {
    rawHeaders: [],
    pause: () => {},
    resume: () => {},
    abort: (reason: Error) => handler.onResponseError(controller as unknown as Controller, reason),
  }
  return controller as unknown as Controller
}

/** Fails before anything is sent, with what the library says. */
const unsent =
  (make: () => Error): Manner =>
  (handler) =>
    handler.onResponseError(null, make())

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code })

export const refuses = unsent(() => coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'))

export const expired = unsent(
  () =>
    new GatewayError('tls-failed', {
      reason: 'certificate-expired',
      cause: coded('CERT_HAS_EXPIRED', 'certificate has expired'),
    }),
)

export const nameless = unsent(() => coded('ENOTFOUND', 'getaddrinfo ENOTFOUND risk.invalid'))

/** Takes the request and says nothing, until it is given up. */
export const hangs: Manner = (handler) => handler.onRequestStart?.(controllerOf(handler), null)

/** Answers with a status and no body. */
export const answers =
  (status: number): Manner =>
  (handler) => {
    const controller = controllerOf(handler)
    handler.onRequestStart?.(controller, null)
    handler.onResponseStart?.(controller, status, {}, '')
    handler.onResponseEnd?.(controller, {})
  }

/** Has every endpoint do as `mannerOf` says by its name, until the test has restored its mocks. */
export const fakeEndpoints = (mannerOf: (name: string) => Manner): void => {
  vi.spyOn(Endpoint.prototype, 'done').mockImplementation(() => {})
  vi.spyOn(Endpoint.prototype, 'dispatch').mockImplementation(function dispatch(
    this: Endpoint,
    _: EndpointRequest,
    handler: EndpointHandler,
  ) {
    queueMicrotask(() => mannerOf(this.name)(handler))
  })
}
