import type { GatewayError } from '../../failures/errors.ts'

/** Hears what no client is told. */
export interface Notices {
  /** The policy has thrown, which it never should: the request is forwarded as if there were no cache. */
  broken(error: unknown): void
  /** What is stored could not be refreshed behind the clients' backs. */
  unrefreshed(error: GatewayError): void
}
