import type { Group } from '../catalog.ts'
import { within } from '../clock.ts'
import type { EndpointConfig } from '../config/config.ts'
import { formatDuration } from '../units.ts'
import { maxReachMs, type Reached, reach } from './reach.ts'

/** Is an endpoint that can be tried. */
export interface Tried {
  readonly group: Group
  readonly name: string
  /** Rejects with why it is not there, for operators. */
  reach(): Promise<void>
}

/** Makes what is tried of an endpoint as it is configured. */
export const triedIn = (
  group: Group,
  given: Reached & { readonly endpoint: EndpointConfig },
  mode: 'connect' | 'health',
): Tried => ({
  group,
  name: given.endpoint.origin + given.endpoint.pathPrefix,
  reach: () => reach(given, mode),
})

/** Is what came of trying one; null: it is there. */
export interface Found extends Omit<Tried, 'reach'> {
  readonly reason: string | null
}

/** Is a group of which no endpoint that was tried is there. */
export interface Unreached {
  readonly group: Group
  readonly endpoints: readonly { readonly name: string; readonly reason: string }[]
}

/** Tries all at once, for at most 2 s. */
export const tryAll = (tried: readonly Tried[]): Promise<readonly Found[]> =>
  Promise.all(
    tried.map(async ({ group, name, reach }) => {
      let reason: string | null = null
      const told = reach().catch((error: unknown) => {
        reason = error instanceof Error ? error.message : String(error)
      })
      const inTime = await within(maxReachMs, told)
      return { group, name, reason: inTime ? reason : `no answer within ${formatDuration(maxReachMs)}` }
    }),
  )

/** Tries all at once, for at most 2 s, and lists the groups of which none is there. */
export const preflight = async (tried: readonly Tried[]): Promise<readonly Unreached[]> => {
  const found = await tryAll(tried)
  return [...new Set(found.map(({ group }) => group))].flatMap((group): readonly Unreached[] => {
    const own = found.filter((each) => each.group === group)
    const endpoints = own.flatMap(({ name, reason }) => (reason === null ? [] : [{ name, reason }]))
    return endpoints.length === own.length ? [{ group, endpoints }] : []
  })
}
