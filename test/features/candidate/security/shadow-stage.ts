/** A gateway that copies all that it may, in front of a primary that is sound. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { byGroup } from '../../../../src/operations.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, type ReceivedRequest, type TestUpstream } from '../../../helpers/upstream.ts'

/** What `/status` says of the copies of a group. */
export interface ShownShadow {
  readonly sent: number
  readonly underWay: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly dropped: Readonly<Record<string, number>>
}

export interface ShadowStage {
  readonly live: LiveGateway
  readonly port: number
  readonly primary: TestUpstream
  /** Reads what became of the copies of a group. */
  shown(group: 'market' | 'valuation'): Promise<ShownShadow>
}

/** Boots it with this candidate. POSTs of valuation are copied too. */
export const stageShadow = async (candidate: string, more: object = {}): Promise<ShadowStage> => {
  const primary = await httpUpstream(({ url, sha256 }, response) => void response.end(`${url} ${sha256}`))
  const all = { sample: '100%', ...more }
  const live = await bootLiveGateway({
    upstreams: byGroup((group) => ({
      endpoints: [primary.url],
      candidate: {
        endpoints: [candidate],
        shadow: group === 'valuation' ? { ...all, posts: true, sideEffects: 'none' } : all,
      },
    })),
  })
  const shown = async (group: string): Promise<ShownShadow> => {
    const { body } = await fetchAdmin(`${live.admin}/status`)
    const { upstreams } = body as unknown as {
      readonly upstreams: Readonly<Record<string, { readonly candidate: { readonly shadow: ShownShadow } }>>
    }
    const found = upstreams[group]
    if (found === undefined) throw new Error(`no group ${group}`)
    return found.candidate.shadow
  }
  return { live, port: Number(new URL(live.url).port), primary, shown }
}

/** Waits until no copy of a group is under way, and so many have been sent or dropped. */
export const settledCopies = async ({ shown }: ShadowStage, group: 'market' | 'valuation', count: number) => {
  const read = async (): Promise<[number, number]> => {
    const { sent, dropped, underWay } = await shown(group)
    return [Object.values(dropped).reduce((sum, each) => sum + each, sent), underWay]
  }
  await expect.poll(read, { timeout: 30_000 }).toEqual([count, 0])
  return shown(group)
}

export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

/** Lists the fields of a request, with names in lower case. */
export const fieldsOf = ({ rawHeaders }: ReceivedRequest): readonly string[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : []))
