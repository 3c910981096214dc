/** Measures what clients have of Redis's end and return: `node tools/bench/redis-outage.ts [rounds]`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/helpers/free-port.ts'
import { program } from '../../test/helpers/program.ts'
import { startRedis } from '../../test/helpers/redis.ts'
import { addresses } from './addresses.ts'
import { connectionsFor, rateLoad } from './h2load.ts'
import type { Turn } from './load.ts'
import { readOptions } from './options.ts'
import { behindEach, gatewayFile } from './peers/gateway.ts'
import { projectRoot, serveTree } from './peers/gateway-tree.ts'
import { machine } from './report.ts'
import { withStage } from './stage.ts'
import { median } from './stats.ts'
import { get } from './workload.ts'

const rate = 500
const seconds = 5
const killAfterMs = 1500
const downMs = 1500
const pollMs = 10

const rounds = Number(process.argv[2] ?? 3)
const [redisServer, h2load] = [await program('redis-server'), await program('h2load')]
if (redisServer.missing !== null) throw new Error(redisServer.missing)
if (h2load.missing !== null) throw new Error(h2load.missing)

const redis = await startRedis(redisServer.path)
const adminPort = await freePort()

const state = async (): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${adminPort}/status`)
  const status = (await response.json()) as { readonly limits: { readonly rate: { readonly state: string } } }
  return status.limits.rate.state
}

/** Waits until the count is shared, and returns how long that took. */
const shared = async (): Promise<number> => {
  const startedAt = performance.now()
  while ((await state()) !== 'shared') await sleep(pollMs)
  return performance.now() - startedAt
}

await withStage(readOptions([]), async (stage) => {
  stage.atEnd(redis.kill)
  const directory = join(stage.directory, 'redis-outage')
  await mkdir(directory)
  const running = await serveTree(projectRoot, { ...stage, directory }, (port) =>
    [
      gatewayFile(port, { adminPort }),
      `limits: { address: { rate: 1000000/s }, redis: { url: ${JSON.stringify(redis.url)} } }\n`,
      behindEach(addresses(1), stage.upstreamPort),
    ].join(''),
  )
  stage.atEnd(running.stop)
  const load = rateLoad(h2load.path, stage.directory, rate)
  const turn = (): Promise<Turn> => load.run(running, get, seconds, connectionsFor(rate))
  const [up, outage, back]: [Turn[], Turn[], number[]] = [[], [], []]
  await shared()
  for (let round = 0; round < rounds; round++) {
    up.push(await turn())
    const loaded = turn()
    await sleep(killAfterMs)
    await redis.kill()
    await sleep(downMs)
    await redis.restart()
    back.push(await shared())
    outage.push(await loaded)
  }
  const p99 = (turns: readonly Turn[]): string => turns.map(({ p99Ms }) => p99Ms.toFixed(2)).join(', ')
  const failed = [...up, ...outage].reduce((sum, each) => sum + each.failed, 0)
  const served = [...up, ...outage].reduce((sum, each) => sum + each.served, 0)
  const more = median(outage.map(({ p99Ms }, n) => p99Ms - (up[n]?.p99Ms ?? 0)))
  console.log(`${new Date().toISOString()}; ${machine()}
${rate} requests/s; Redis killed and started again in every second turn of ${seconds} s, ${rounds} of each
served ${served}, not served (any status from 400 on, or no response) ${failed}
p99 with Redis: ${p99(up)} ms; with an outage: ${p99(outage)} ms; median of the differences ${more.toFixed(2)} ms (at most 20)
shared again ${back.map((ms) => ms.toFixed(0)).join(', ')} ms after Redis took connections (at most 1000)`)
})
