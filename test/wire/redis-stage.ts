/** Two gateways that share their counts, and their waits when Redis fails over. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { startClosedLoop } from '../helpers/closed-loop-load.ts'
import { bootGateway, type LogLine, type TestGateway } from '../helpers/gateway.ts'
import type { TlsFiles } from '../helpers/redis-topology.ts'
import { httpUpstream } from '../helpers/upstream.ts'

const isShared = ({ msg }: LogLine): boolean => msg === 'limits are shared'
const isLocal = ({ msg }: LogLine): boolean => msg === 'limits are not shared'

const patient = { timeout: 60_000 }

/** Boots two gateways whose clients may send 200 requests a minute, counted by the Redis of these settings. */
export const bootTwoGateways = async (redis: object): Promise<readonly [TestGateway, TestGateway]> => {
  const upstream = await httpUpstream()
  const boot = async (): Promise<TestGateway> => {
    const gateway = await bootGateway({
      upstream: upstream.url,
      limits: { address: { rate: '1/min', burst: 200 }, redis },
    })
    await expect.poll(() => gateway.lines.some(isShared), patient).toBe(true)
    return gateway
  }
  return [await boot(), await boot()]
}

/** Asks a gateway; resolves with the status. */
export const ask = async ({ url }: TestGateway): Promise<number> => {
  const response = await fetch(`${url}/market/insights`)
  await response.arrayBuffer()
  return response.status
}

/**
 * Sends requests to one of two gateways, while `disturb` takes Redis away and `recover` brings it back. Shows that no
 * client gets a 5xx, and that both gateways count together afterwards. Returns how long after `recover` they did.
 */
export const expectSharedAgain = async (
  gateways: readonly [TestGateway, TestGateway],
  disturb: () => Promise<void>,
  recover: () => Promise<void>,
): Promise<number> => {
  const [one, other] = gateways
  const sharedTimes = gateways.map(({ lines }) => lines.filter(isShared).length)
  const load = startClosedLoop(async () => {
    await pause(20)
    return ask(one)
  })
  await load.more(50)
  await disturb()
  for (const { lines } of gateways) await expect.poll(() => lines.some(isLocal), patient).toBe(true)
  await recover()
  const recoveredAt = performance.now()
  for (const [i, { lines }] of gateways.entries())
    await expect
      .poll(() => lines.filter(isShared).length, { ...patient, interval: 10 })
      .toBeGreaterThan(sharedTimes[i] ?? 0)
  const sharedAfterMs = Math.max(0, performance.now() - recoveredAt)
  await load.more(300)
  await load.stop()

  expect(load.responses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  // The other gateway has served no request yet: it knows the count by Redis, which may be late on a busy machine. By
  // itself it would let 200 through.
  let asked = 0
  const askNext = (): Promise<number> => {
    asked++
    return ask(other)
  }
  await expect.poll(askNext, patient).toBe(429)
  expect(asked).toBeLessThan(100)
  return sharedAfterMs
}

/** Writes the files of servers that speak TLS; returns the certificate of the authority as well. */
export const writeTlsFiles = (openssl: string): { readonly files: TlsFiles; readonly ca: string } => {
  const { authority, right } = makeCertificates(openssl)
  const folder = mkdtempSync(join(tmpdir(), 'redis-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const files = { ca: write('ca', authority.cert), cert: write('cert', right.cert), key: write('key', right.key) }
  return { files, ca: authority.cert }
}
