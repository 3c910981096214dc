import { onTestFinished } from 'vitest'
import type { Settings } from './gateway.ts'
import { bootGatewayProcess } from './gateway-process.ts'
import { dialHttp2, type FrameClient, frameClient, listenHttp2, requestHttp2 } from './http2.ts'
import { httpUpstream } from './upstream.ts'

/** What an attack on one connection did. */
export interface AttackResult {
  readonly attacker: FrameClient
  /** What another client was answered meanwhile, and once more after it. */
  readonly statuses: readonly number[]
  readonly grownBytes: number
  /** Requests of the attack that reached the upstream. */
  readonly begun: number
}

/** Lets an attacker do its worst to a gateway in a process of its own, while another client goes on asking. */
export const runAttack = async (
  attack: (attacker: FrameClient) => Promise<void>,
  { listen, ...settings }: Settings = {},
): Promise<AttackResult> => {
  const upstream = await httpUpstream()
  const more = { ...settings, listen: { ...listenHttp2(), ...listen } }
  const gateway = await bootGatewayProcess({ upstream: upstream.url, ...more })
  gateway.stdout().resume()
  const other = dialHttp2(gateway.port)
  const asked = async (): Promise<number> => (await requestHttp2(other, { ':path': '/leads/pipeline' })).status
  const statuses = [await asked()]
  const before = await gateway.census()
  const attacker = await frameClient(gateway.port)
  onTestFinished(() => void attacker.socket.destroy())

  let isOver = false
  const attacking = attack(attacker).finally(() => {
    isOver = true
  })
  while (!isOver) statuses.push(await asked())
  await attacking
  statuses.push(await asked())

  const { residentBytes } = await gateway.census()
  const grownBytes = residentBytes - before.residentBytes
  return { attacker, statuses, grownBytes, begun: upstream.begun() - statuses.length }
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
