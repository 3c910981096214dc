/** A share that grows step by step, over real sockets: at one gateway by reloads, at the other by restarts. */

import { Pool } from 'undici'
import { expect, onTestFinished } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { openGateway, type Settings } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

/** What the run has seen, over all steps and both gateways. */
export interface StabilityResult {
  readonly requests: number
  /** How often a client that was on the candidate was on the primary at a larger share. */
  readonly wentBack: number
  /** How often the two gateways had a client on different sides. */
  readonly differed: number
  /** The largest deviation of the clients on the candidate from the share, in points. */
  readonly deviation: number
}

/** Shifts clients from 0 to 100 % in steps, and asks as each of them at both gateways, before and after each. */
export const shiftClients = async (addresses: readonly string[], stepCount: number): Promise<StabilityResult> => {
  const { primary, candidate } = await sideUpstreams()
  const settings = (share: number): Settings => ({
    ...withCandidate(primary.url, candidate.url, { share: `${Math.round(share * 100)}%` }),
    listen: { trustedProxies: ['127.0.0.1'] },
    log: { level: 'error' },
  })
  const reloaded = await bootLiveGateway(settings(0))
  let [requests, wentBack, differed, deviation] = [0, 0, 0, 0]
  let before: readonly string[] = []
  for (let step = 0; step <= stepCount; step++) {
    const share = step / stepCount
    reloaded.edit(settings(share))
    expect((await fetchAdmin(`${reloaded.admin}/reload`, 'POST')).status).toBe(200)
    const restarted = await openGateway(settings(share))
    const [sides, others] = await Promise.all([askAll(reloaded.url, addresses), askAll(restarted.url, addresses)])
    await restarted.gateway.close()
    requests += sides.length + others.length
    differed += sides.filter((side, index) => side !== others[index]).length
    wentBack += before.filter((side, index) => side === 'candidate' && sides[index] !== 'candidate').length
    const there = sides.filter((side) => side === 'candidate').length
    deviation = Math.max(deviation, Math.abs(there / addresses.length - share) * 100)
    before = sides
  }
  return { requests, wentBack, differed, deviation }
}

const connections = 32

/** Asks once as each address, which a proxy names; returns which side has answered. */
const askAll = async (url: string, addresses: readonly string[]): Promise<readonly string[]> => {
  const pool = new Pool(url, { connections })
  onTestFinished(() => pool.destroy())
  const ask = async (address: string): Promise<string> => {
    const { body } = await pool.request({
      path: '/market/insights',
      method: 'GET',
      headers: { 'X-Forwarded-For': address },
    })
    return body.text()
  }
  const sides: string[] = []
  for (let at = 0; at < addresses.length; at += connections)
    sides.push(...(await Promise.all(addresses.slice(at, at + connections).map(ask))))
  await pool.close()
  return sides
}

/** Lists addresses of clients. */
export const listAddresses = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `10.9.${index >> 8}.${index & 255}`)
