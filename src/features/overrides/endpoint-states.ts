import type { AdminContext } from '../../core/admin/admin-context.ts'
import { listSides, reportedSides } from '../../core/exchange/sides.ts'
import { findDrain, toEndpointKey } from '../../core/runtime/overrides.ts'
import type { SideReport } from '../../core/runtime/status/side.ts'
import type { UpstreamReport } from '../../core/runtime/status/upstreams.ts'
import type { Group } from '../../operations.ts'

export type EndpointState = ReturnType<typeof listEndpointStates>[number]

/** With overrides that are not applied yet. */
export const listEndpointStates = ({ reloader, overrides }: AdminContext, group: Group, report: UpstreamReport) =>
  listSides(reloader.config.upstreams[group]).flatMap(({ side, upstream: { endpoints } }) => {
    const reported = reportedSides<SideReport>(report).find((each) => each.side === side)?.report.endpoints ?? []
    // Endpoints with the same URL share an override.
    const distinct = [...new Map(reported.map((each) => [each.url, each])).values()]
    return distinct.map(({ url, inFlight, state: { name: state } }) => {
      const same = endpoints.filter(({ origin, pathPrefix }) => origin + pathPrefix === url)
      const key = toEndpointKey(group, url)
      const takesWork = same.some(
        ({ weight, drain }) => weight > 0 && findDrain(overrides.endpoints, key, drain) === null,
      )
      const takesWorkByFile = same.some(({ weight, drain }) => weight > 0 && !drain)
      const overrideUntil = overrides.endpoints.get(key)?.until ?? null
      return {
        side,
        url,
        inFlight,
        drainedByFile: same.some(({ drain }) => drain),
        /** No command changes a weight. */
        hasWeight: same.some(({ weight }) => weight > 0),
        takesWork,
        /** The end of the override without which the endpoint would take no work, in milliseconds since the epoch. */
        readyUntil: takesWork && !takesWorkByFile ? overrideUntil : null,
        /** The end of the override without which the endpoint would take work. */
        drainUntil: !takesWork && takesWorkByFile ? overrideUntil : null,
        outage: state === 'down' || state === 'ejected' ? state : null,
      }
    })
  })

export const otherTakers = (
  endpoints: readonly EndpointState[],
  { side, url }: Pick<EndpointState, 'side' | 'url'>,
): readonly EndpointState[] => endpoints.filter((each) => each.side === side && each.url !== url && each.takesWork)
