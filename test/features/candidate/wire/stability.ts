/** A share that grows step by step, over real sockets: at one gateway by reloads, at the other by restarts. */

import { expect } from 'vitest'
import { sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { openGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { type PipelinedRequest, sendPipelined } from '../../../helpers/pipelined-client.ts'
import type { RawResponse } from '../../../helpers/raw-response.ts'

/** What the run has seen, over all steps and both gateways. */
export interface StabilityResult {
  readonly requests: number
  /** How often a client that was on the candidate was on the primary at a larger share. */
  readonly wentBack: number
  /** How often the two gateways had a client on different sides. */
  readonly differed: number
  /** What was answered by neither side. */
  readonly others: readonly string[]
  /** The largest deviation of the clients on the candidate from the share, in points. */
  readonly deviation: number
}

/** Shifts clients from 0 to 100 % in steps, and asks as each of them at both gateways, before and after each. */
export const shiftClients = async (addresses: readonly string[], stepCount: number): Promise<StabilityResult> => {
  const { primary, candidate } = await sideUpstreams()
  // Where a client is, and nothing else: no guard, and no time in which a machine that is busy falls back.
  const settings = (share: number): Settings => ({
    ...withCandidate(primary.url, candidate.url, { share: `${Math.round(share * 100)}%`, guard: 'none' }),
    defaults: { timeouts: { connect: '1m', headers: '1m' }, deadline: '2m' },
    listen: { trustedProxies: ['127.0.0.1'] },
    log: { level: 'error' },
  })
  const reloaded = await bootLiveGateway(settings(0))
  let [requests, wentBack, differed, deviation] = [0, 0, 0, 0]
  let before: readonly string[] = []
  const others = new Set<string>()
  for (let step = 0; step <= stepCount; step++) {
    const share = step / stepCount
    reloaded.edit(settings(share))
    expect((await fetchAdmin(`${reloaded.admin}/reload`, 'POST')).status).toBe(200)
    const restarted = await openGateway(settings(share))
    const [sides, sidesThere] = await Promise.all([askAll(reloaded.url, addresses), askAll(restarted.url, addresses)])
    await restarted.gateway.close()
    requests += sides.length + sidesThere.length
    differed += sides.filter((side, index) => side !== sidesThere[index]).length
    for (const side of [...sides, ...sidesThere]) if (side !== 'primary' && side !== 'candidate') others.add(side)
    wentBack += before.filter((side, index) => side === 'candidate' && sides[index] !== 'candidate').length
    const there = sides.filter((side) => side === 'candidate').length
    deviation = Math.max(deviation, Math.abs(there / addresses.length - share) * 100)
    before = sides
  }
  return { requests, wentBack, differed, others: [...others], deviation }
}

// Lanes of one gateway, and how many requests each sends at once.
const lanes = 8
const batchSize = 16

/** Asks once as each address, which a proxy names; returns which side has answered. */
const askAll = async (url: string, addresses: readonly string[]): Promise<readonly string[]> => {
  const sides: string[] = []
  const requests = addresses.map((address, at): PipelinedRequest => {
    const head = `GET /market/insights HTTP/1.1\r\nHost: gateway\r\nX-Forwarded-For: ${address}\r\n\r\n`
    const onAnswer = (response: RawResponse | null): void => {
      sides[at] = response?.body ?? 'no answer'
    }
    return { bytes: head, method: 'GET', onAnswer }
  })
  const batchCount = Math.ceil(requests.length / batchSize)
  const batches = Array.from({ length: batchCount }, (_, n) => requests.slice(n * batchSize, (n + 1) * batchSize))
  await sendPipelined(Number(new URL(url).port), lanes, batches)
  return sides
}

/** Lists addresses of clients. */
export const listAddresses = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `10.9.${index >> 8}.${index & 255}`)
