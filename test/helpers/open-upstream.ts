import { onTestFinished } from 'vitest'
import type { UpstreamConfig } from '../../src/core/config/config.ts'
import type { Exchange } from '../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../src/core/exchange/failures/errors.ts'
import type { LogEvent } from '../../src/core/log/log.ts'
import { Endpoint } from '../../src/core/upstream/endpoints/endpoint.ts'
import type { DrainedBy } from '../../src/core/upstream/endpoints/group-endpoint.ts'
import { openUpstream, type Upstream } from '../../src/core/upstream/upstream.ts'
import { upstreamConfig } from './upstream-config.ts'

/**
 * Opens an upstream with endpoints at these origins, every policy off unless `more` says otherwise; it is cut when the
 * test has finished. It shares the endpoints of the one `before` it. Those that drain do `by` this.
 */
export const openTestUpstream = (
  origins: string | readonly string[],
  more: Partial<UpstreamConfig> = {},
  logEvent: LogEvent = () => {},
  before: Upstream | null = null,
  by: DrainedBy = 'file',
): Upstream => {
  const config = upstreamConfig(origins, more)
  return openUpstream(config, {
    open: (each) => {
      const shared = before?.members.find(({ name }) => name === each.origin + each.pathPrefix)?.endpoint
      if (shared !== undefined) return shared
      const endpoint = new Endpoint(each, each.origin, config, logEvent)
      onTestFinished(() => endpoint.destroy(new Error('the test is over')))
      return endpoint
    },
    use: () => {},
    drainedBy: ({ drain }) => (drain ? by : null),
    breaker: null,
    logEvent,
    onFailure: () => {},
  })
}

/** Sends and returns the status, or how it failed. The body is taken to its end, which is not waited for. */
export const sendOutcome = async (upstream: Pick<Upstream, 'send'>, exchange: Exchange): Promise<number | string> => {
  try {
    const { status, body } = await upstream.send(exchange)
    body.consume({ data: () => true, end: () => {}, fail: () => {} })
    return status
  } catch (error) {
    return GatewayError.from(error).kind
  }
}
