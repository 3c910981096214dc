/** What stands behind the soaked gateway, and the configuration that says so. */
import type { Group } from '../../src/operations.ts'
import { type LabEndpoint, openEndpoint } from '../lab/endpoint.ts'
import { Ledger } from '../lab/ledger.ts'
import { respondLarge } from './large-responses.ts'

/** A group whose first endpoint goes wrong. */
export interface Faulty {
  readonly group: Group
  readonly faulty: LabEndpoint
}

export interface Site {
  readonly ledger: Ledger
  readonly faulty: readonly Faulty[]
  /** How many arrangements of the moving groups there are; the first is that of the start. */
  readonly arrangements: number
  /** Writes the configuration of an arrangement; `lost` puts an endpoint that is not there behind a group. */
  configuration(arrangement: number, lost?: boolean): string
}

/** Names how the groups whose first endpoint goes wrong are looked after, each in a way of its own. */
const lookedAfter = {
  // No second one, so that every policy of the group is met.
  risk: { sound: 0, policy: { circuitBreaker: { openFor: '1s' }, healthCheck: { path: '/health', interval: '1s' } } },
  financing: { sound: 1, policy: { outlier: { ejectionTime: '1s' } } },
  analysis: { sound: 1, policy: { healthCheck: { path: '/health', interval: '1s' }, outlier: { ejectionTime: '1s' } } },
  compliance: { sound: 2, policy: { retry: {}, circuitBreaker: { openFor: '1s' }, outlier: { ejectionTime: '1s' } } },
} as const satisfies Partial<Record<Group, unknown>>

/** Opens the servers of all eight groups, which are there as long as this process is. */
export const openSite = async (workers: number): Promise<Site> => {
  const ledger = new Ledger()
  const open = (name: string): Promise<LabEndpoint> =>
    openEndpoint({ name, ledger, behavior: respondLarge(), onEnd: () => {} })
  const [a, b, c] = await Promise.all([open('sound a'), open('sound b'), open('sound c')])
  const faulty = await Promise.all(
    Object.keys(lookedAfter).map(async (group) => ({ group: group as Group, faulty: await open(`faulty ${group}`) })),
  )
  const moving = [[a], [a, b], [b, c], [c], [a, b, c]].map((endpoints) => endpoints.map(({ url }) => url))
  const policies = Object.fromEntries(
    faulty.map(({ group, faulty }) => {
      const { sound, policy } = lookedAfter[group as keyof typeof lookedAfter]
      return [group, { endpoints: [faulty, b, c].slice(0, 1 + sound).map(({ url }) => url), ...policy }]
    }),
  )
  return {
    ledger,
    faulty,
    arrangements: moving.length,
    configuration: (arrangement, lost = false) => {
      const at = (shift: number) => ({ endpoints: moving[(arrangement + shift) % moving.length] as string[] })
      return JSON.stringify({
        ...(workers > 1 && { workers }),
        listen: { port: 0 },
        admin: { port: 0 },
        // Longer than a busy machine stands still: what is sound must have its time.
        defaults: { timeouts: { connect: '4s', headers: '4s', body: '5s' } },
        upstreams: {
          ...{ valuation: at(0), leads: at(1), inventory: at(2), market: at(3) },
          ...policies,
          // Below where the kernel takes ports for connections, and unused: refused.
          ...(lost && { leads: 'http://127.0.0.1:9' }),
        },
      })
    },
  }
}
