/** A gateway that copies all that it may, in front of a primary that is sound: one for all tests of a file. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Gateway, startGateway } from '../../../../src/core/runtime/gateway.ts'
import { byGroup } from '../../../../src/operations.ts'
import { openGateway } from '../../../helpers/gateway.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { openHttpUpstream, type ReceivedRequest, type TestUpstream } from '../../../helpers/upstream.ts'

/** What `/status` says of the copies of a group. */
interface ShownShadow {
  readonly sent: number
  readonly underWay: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly dropped: Readonly<Record<string, number>>
}

type ShownGroup = 'market' | 'valuation'

type Counts = Readonly<Record<string, number>>

const sum = (counts: Counts): number => Object.values(counts).reduce((total, each) => total + each, 0)

/** What is more than before, where anything is. */
const minus = (counts: Counts, before: Counts): Counts =>
  Object.fromEntries(
    Object.entries(counts)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([, count]) => count !== 0),
  )

/** Boots it before all tests with the candidate that is opened then. POSTs of valuation are copied too. */
export const shadowStage = <Candidate extends { readonly url: string; close(): Promise<void> }>(
  openCandidate: () => Promise<Candidate>,
  more: object = {},
) => {
  let candidate: Candidate
  let primary: TestUpstream
  let gateway: Gateway
  beforeAll(async () => {
    candidate = await openCandidate()
    primary = await openHttpUpstream(({ url, sha256 }, response) => void response.end(`${url} ${sha256}`))
    const all = { sample: '100%', ...more }
    const upstreams = byGroup((group) => ({
      endpoints: [primary.url],
      candidate: {
        endpoints: [candidate.url],
        shadow: group === 'valuation' ? { ...all, posts: true, sideEffects: 'none' } : all,
      },
    }))
    await openGateway({ upstreams }, async (options) => {
      gateway = await startGateway(options)
      return gateway
    })
  })
  afterAll(async () => {
    await gateway.close()
    await Promise.all([primary.close(), candidate.close()])
  })

  const shown = async (group: ShownGroup): Promise<ShownShadow> => {
    const { body } = await fetchAdmin(`http://127.0.0.1:${gateway.adminAddress.port}/status`)
    const { upstreams } = body as unknown as {
      readonly upstreams: Readonly<Record<ShownGroup, { readonly candidate: { readonly shadow: ShownShadow } }>>
    }
    return upstreams[group].candidate.shadow
  }
  return {
    port: () => gateway.address.port,
    candidate: () => candidate,
    primary: () => primary,
    /** Waits until so many more copies of a group than before are over or dropped; returns what became of them. */
    async copies(group: ShownGroup, count: number, act: () => Promise<unknown>) {
      const before = await shown(group)
      await act()
      const read = async (): Promise<readonly number[]> => {
        const { sent, dropped, underWay } = await shown(group)
        return [sent - before.sent + sum(minus(dropped, before.dropped)), underWay]
      }
      await expect.poll(read).toEqual([count, 0])
      const { outcomes, dropped } = await shown(group)
      return { ...minus(outcomes, before.outcomes), ...minus(dropped, before.dropped) }
    },
  }
}

export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

/** Lists the fields of a request, with names in lower case. */
export const fieldsOf = ({ rawHeaders }: ReceivedRequest): readonly string[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : []))
