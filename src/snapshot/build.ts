import { catalog, type Group, groups, type OperationId } from '../catalog.ts'
import type { Config, EndpointConfig } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import type { Endpoint } from '../upstream/endpoint.ts'
import type { Endpoints } from '../upstream/endpoints.ts'
import { openUpstream, type Upstream } from '../upstream/upstream.ts'
import type { Overrides } from './overrides.ts'
import { Snapshot } from './snapshot.ts'
import { stack } from './stack.ts'

/**
 * Builds a whole snapshot on the endpoints that are open already, and on new ones. When it throws, it has given back whatever it took.
 * `sandboxOrigin` is where the embedded upstream listens, if anything uses it.
 */
export const build = (
  config: Config,
  overrides: Overrides,
  endpoints: Endpoints,
  sandboxOrigin: string | null,
): Snapshot => {
  const taken: Endpoint[] = []
  const release = async (): Promise<void> =>
    void (await Promise.all(taken.map((endpoint) => endpoints.release(endpoint))))
  try {
    const upstreams = Object.fromEntries(
      groups.map((group) => {
        const upstream = config.upstreams[group]
        const open = (endpoint: EndpointConfig): Endpoint => {
          const opened = endpoints.take(group, endpoint, upstream, sandboxOrigin ?? '')
          taken.push(opened)
          return opened
        }
        return [group, openUpstream(upstream, open)]
      }),
    ) as Record<Group, Upstream>
    const handles = Object.fromEntries(
      catalog.map(({ id, group }) => [id, stack(config.operations[id], upstreams[group], overrides.operations.of(id))]),
    ) as Record<OperationId, Handle>
    return new Snapshot(config, handles, upstreams, release)
  } catch (error) {
    void release()
    throw error
  }
}
