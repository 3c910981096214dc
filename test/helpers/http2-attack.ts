import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Settings } from './gateway.ts'
import { type GatewayProcess, openGatewayProcess } from './gateway-process.ts'
import { dialHttp2, type FrameClient, frameClient, listenHttp2, requestHttp2 } from './http2.ts'
import { openHttpUpstream, type TestUpstream } from './upstream.ts'

/** What an attack on one connection did. */
export interface AttackResult {
  readonly attacker: FrameClient
  /** What another client was answered meanwhile, and once more after it. */
  readonly statuses: readonly number[]
  readonly grownBytes: number
  /** Requests of the attack that reached the upstream. */
  readonly begun: number
}

export type Attack = (attacker: FrameClient) => Promise<void>

const askedAtMost = 20

/**
 * Opens a gateway in a process of its own, for all tests of a file or of a `describe`. What is returned lets an
 * attacker do its worst to it, while another client goes on asking.
 */
export const attackedGateway = (
  makeSettings: () => Settings | Promise<Settings> = () => ({}),
): ((attack: Attack) => Promise<AttackResult>) => {
  let upstream: TestUpstream
  let gateway: GatewayProcess
  let kill: () => void
  beforeAll(async () => {
    upstream = await openHttpUpstream()
    const { listen, ...settings } = await makeSettings()
    const opened = await openGatewayProcess({
      upstream: upstream.url,
      ...settings,
      listen: { ...listenHttp2(), ...listen },
    })
    gateway = opened.gateway
    kill = opened.kill
    gateway.stdout().resume()
  })
  afterAll(async () => {
    kill()
    await upstream.close()
  })
  return async (attack) => {
    const begunBefore = upstream.begun()
    const other = dialHttp2(gateway.port)
    const ask = async (): Promise<number> => (await requestHttp2(other, { ':path': '/leads/pipeline' })).status
    const statuses = [await ask()]
    const before = await gateway.census()
    const attacker = await frameClient(gateway.port)
    onTestFinished(() => void attacker.socket.destroy())

    let isOver = false
    const attacking = attack(attacker).finally(() => {
      isOver = true
    })
    while (!isOver && statuses.length < askedAtMost) statuses.push(await ask())
    await attacking
    statuses.push(await ask())

    const { residentBytes } = await gateway.census()
    const grownBytes = residentBytes - before.residentBytes
    return { attacker, statuses, grownBytes, begun: upstream.begun() - begunBefore - statuses.length }
  }
}

/** Sends a batch again and again until the connection ends, or `most` times. */
export const flood = async (
  { socket, send }: FrameClient,
  most: number,
  batch: (nth: number) => readonly Buffer[],
): Promise<void> => {
  for (let nth = 0; nth < most && !socket.destroyed; nth++) await send(...batch(nth))
}

/** Repeats a frame. */
export const repeatFrame = (count: number, each: Buffer): Buffer[] => Array.from({ length: count }, () => each)

/** Far more than any of these attacks may cost, and far less than what they send would. */
export const maxGrowthBytes = 100 * 1024 * 1024
