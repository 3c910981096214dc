/** Gateways whose Redis is a real cluster, of which nodes go and come. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../../../src/features/redis/redis-connection.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type RedisClusterSetup, startCluster, type TlsFiles } from '../../../helpers/redis-topology.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { bootTwoGateways, expectSharedAgain, writeTlsFiles } from '../../../wire/redis-stage.ts'
import { redisSettings } from '../redis-settings.ts'

const [server, cli, openssl] = [
  await needProgram('redis-server'),
  await needProgram('redis-cli'),
  await needProgram('openssl'),
]
const paths = { server: server.path ?? '', cli: cli.path ?? '' }

const start = async (replicas: 0 | 1 = 0, tls?: TlsFiles, nodeTimeoutMs = 1000): Promise<RedisClusterSetup> => {
  const setup = await startCluster(paths, replicas, tls, nodeTimeoutMs)
  onTestFinished(() => setup.stop())
  return setup
}

/** Starts a cluster whose nodes all live on, so that no node is taken for dead on a slow machine. */
const startLasting = (tls?: TlsFiles): Promise<RedisClusterSetup> => start(0, tls, 30_000)

describe.skipIf(server.missing ?? cli.missing)('with a cluster', { timeout: 180_000 }, () => {
  test('a node with a replica is killed under load: the elected one counts for both', async () => {
    const setup = await start(1)
    const gateways = await bootTwoGateways({ cluster: setup.urls, timeout: '1s' })
    const [node, ...others] = setup.nodes

    const afterMs = await expectSharedAgain(
      gateways,
      async () => node?.kill(),
      async () => {
        // Until the others miss it, they take the cluster for whole.
        const missed = async (): Promise<string> => String(await setup.ask(others[0], 'CLUSTER', 'NODES'))
        await expect.poll(missed, { timeout: 60_000, interval: 100 }).toMatch(/master,fail /)
        await setup.isWhole(others)
      },
    )

    console.log(`shared again ${Math.round(afterMs)} ms after the cluster was whole`)
  })

  test('slots move to another node under load, and each command gets its reply', async () => {
    const setup = await startLasting()
    const changes: unknown[] = []
    const link = new ManagedRedis({
      connect: connectRedis(redisSettings({ cluster: setup.urls }), 30_000),
      timeoutMs: 10_000,
      onChange: (...change) => changes.push(change),
    })
    onTestFinished(() => link.close())
    await expect.poll(() => link.isShared, { timeout: 60_000 }).toBe(true)
    const ids = await Promise.all(setup.nodes.map((node) => setup.ask(node, 'CLUSTER', 'MYID')))
    let [isMoving, replies, lost] = [true, 0, 0]
    const load = Array.from({ length: 8 }, async (_, lane) => {
      for (let n = 0; isMoving; n++) {
        const used = await link.consume(`test:${lane}:${n % 500}`, 1e-6, 1_000_000)
        if (used === null) lost++
        else replies++
        await pause(10)
      }
    })

    const [from, to] = ids.map(String)
    const options = ['--cluster-from', from ?? '', '--cluster-to', to ?? '', '--cluster-slots', '2000', '--cluster-yes']
    const node = setup.urls[0]?.replace('redis://', '') ?? ''
    await promisify(execFile)(paths.cli, ['--cluster', 'reshard', node, ...options], { maxBuffer: 64 * 1024 ** 2 })
    isMoving = false
    await Promise.all(load)

    console.log({ replies, lost })
    expect(lost).toBe(0)
    expect(changes).toEqual([[true, null]])
  })

  test.skipIf(openssl.missing)('over TLS, by an authority of its own, each node is reached', async () => {
    const { files, ca } = writeTlsFiles(openssl.path ?? '')
    const setup = await startLasting(files)
    const tls = { ca, certificate: null, key: null }

    const connection = await connectRedis(redisSettings({ cluster: setup.urls, tls }), 30_000)(() => {})
    onTestFinished(() => connection.destroy())

    expect(await connection.probe()).toBe(true)
    await expect(connectRedis(redisSettings({ cluster: setup.urls }), 30_000)(() => {})).rejects.toThrow('certificate')
  })

  test('the cache is shared: what one gateway stores another finds, until it is removed', async () => {
    const setup = await startLasting()
    let fetched = 0
    const upstream = await httpUpstream((_, response) => {
      fetched++
      response.setHeader('Cache-Control', 'max-age=600').setHeader('Vary', 'Accept-Language').end(`fetch ${fetched}`)
    })
    const boot = async (): Promise<LiveGateway> => {
      const live = await bootLiveGateway({
        upstream: upstream.url,
        operations: { 'market.insights': { cache: true }, 'leads.pipeline': { cache: true } },
        cache: { redis: { cluster: setup.urls, timeout: '1s' } },
        listen: { publicUrl: 'http://gateway.example' },
      })
      const readCache = async () => (await fetchAdmin(`${live.admin}/status`)).body.cache
      await expect.poll(readCache, { timeout: 60_000 }).toMatchObject({ redis: { state: 'shared' } })
      return live
    }
    const get = async ({ url }: LiveGateway, path: string): Promise<string> => {
      // By the name that all of them have.
      const sent = request(url + path, { headers: { host: 'gateway.example' } }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return text(response)
    }
    const keys = async (): Promise<number> => {
      const sizes = await Promise.all(setup.nodes.map((node) => setup.ask(node, 'KEYS', 'lender-gateway:cache:*')))
      return sizes.flat().length
    }
    const getBoth = async (live: LiveGateway) =>
      `${await get(live, '/market/insights?a=1')}, ${await get(live, '/leads/pipeline?a=1')}`
    const [one, other, third] = [await boot(), await boot(), await boot()]

    expect(await getBoth(one)).toBe('fetch 1, fetch 2')
    // Of each operation: what it varies by, the response, and three generations.
    await expect.poll(keys, { timeout: 60_000 }).toBe(10)
    expect(await getBoth(other)).toBe('fetch 1, fetch 2')

    expect((await fetchAdmin(`${one.admin}/cache`, 'DELETE')).status).toBe(200)
    expect(await getBoth(third)).toBe('fetch 3, fetch 4')
  })
})
