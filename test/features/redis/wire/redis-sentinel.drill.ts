/** Gateways whose Redis fails over, by real Sentinels. */
import { createClient } from '@redis/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../../../src/features/redis/redis-connection.ts'
import { createScript } from '../../../../src/features/redis/redis-server.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type SentinelOptions, type SentinelSetup, startSentinels } from '../../../helpers/redis-topology.ts'
import { bootTwoGateways, expectSharedAgain } from '../../../wire/redis-stage.ts'
import { redisSettings } from '../redis-settings.ts'

const [server, sentinel] = [await needProgram('redis-server'), await needProgram('redis-sentinel')]
const paths = { server: server.path ?? '', sentinel: sentinel.path ?? '' }

const start = async (options?: SentinelOptions): Promise<SentinelSetup> => {
  const setup = await startSentinels(paths, options)
  onTestFinished(() => setup.stop())
  return setup
}

/** Waits until the Sentinels name another master. */
const electionOver = async (setup: SentinelSetup, before: number): Promise<void> => {
  const portOfMaster = async (): Promise<number> => (await setup.master()).port
  await expect.poll(portOfMaster, { timeout: 60_000, interval: 100 }).not.toBe(before)
}

describe.skipIf(server.missing ?? sentinel.missing)('with Sentinels', { timeout: 180_000 }, () => {
  test('the master is killed under load: no client gets a 5xx, and the elected one counts for both', async () => {
    const setup = await start()
    const gateways = await bootTwoGateways({ sentinels: setup.addresses, name: 'mymaster', timeout: '1s' })
    const master = await setup.master()

    const afterMs = await expectSharedAgain(
      gateways,
      () => master.kill(),
      () => electionOver(setup, master.port),
    )

    console.log(`shared again ${Math.round(afterMs)} ms after the election`)
  })

  test('an orderly failover is followed: what is confirmed from then on is at the elected master', async () => {
    const setup = await start()
    const changes: (string | null)[] = []
    const link = new ManagedRedis({
      connect: connectRedis(redisSettings({ sentinels: setup.addresses, name: 'mymaster' })),
      timeoutMs: 30_000, // that a machine is slow loses nothing
      onChange: (isShared, reason) => changes.push(isShared ? 'shared' : reason),
    })
    onTestFinished(() => link.close())
    await expect.poll(() => link.isShared, { timeout: 60_000 }).toBe(true)
    const before = await setup.master()
    const count = createScript(`return redis.call('INCR', KEYS[1])`)
    let [confirmed, longestMs] = [0, 0]
    const add = async (): Promise<void> => {
      const at = performance.now()
      if ((await link.run(count, { keys: ['test:n'], args: [] })) !== null) confirmed++
      longestMs = Math.max(longestMs, performance.now() - at)
    }
    const added: Promise<void>[] = []
    const timer = setInterval(() => added.push(add()), 5)
    onTestFinished(() => clearInterval(timer))
    const counted = async (): Promise<number> => {
      const client = await createClient({ url: (await setup.master()).url, RESP: 2 }).connect()
      const value = Number(await client.get('test:n'))
      client.destroy()
      return value
    }

    await setup.failOver()
    const portOfMaster = async (): Promise<number> => (await setup.master()).port
    await expect.poll(portOfMaster, { timeout: 60_000, interval: 100 }).not.toBe(before.port)
    const isSeen = async (): Promise<boolean> => {
      const seen = await counted()
      return link.isShared && changes.length >= 3 && (await counted()) > seen
    }
    await expect.poll(isSeen, { timeout: 60_000, interval: 100 }).toBe(true)
    clearInterval(timer)
    await Promise.all(added)
    const atSwitch = { confirmed, counted: await counted() }
    for (let n = 0; n < 100; n++) await add()

    // Redis confirms before its replicas have a write, so writes confirmed after the promotion are lost until it is
    // noticed.
    const lost = atSwitch.confirmed - atSwitch.counted
    console.log({ lost, of: atSwitch.confirmed, longestMs: Math.round(longestMs), changes })
    expect([confirmed - atSwitch.confirmed, (await counted()) - atSwitch.counted]).toEqual([100, 100])
  })

  test('servers and Sentinels know users of their own', async () => {
    const setup = await start({
      server: [
        ...['--requirepass', 'admin', '--masterauth', 'admin'],
        ...['--user', ...`gateway on >s3rver resetchannels ~lender-gateway:* -@all ${permissions}`.split(' ')],
      ],
      sentinel: [
        'requirepass s3ntinel',
        'sentinel auth-pass mymaster admin',
        'sentinel down-after-milliseconds mymaster 60000', // no master is replaced here
        'user watch on >w4tch resetchannels -@all +sentinel|master +sentinel|get-master-addr-by-name',
      ],
      password: 's3ntinel',
    })
    const settings = { sentinels: setup.addresses, name: 'mymaster', username: 'gateway', password: 's3rver' }
    const asWatch = { sentinelUsername: 'watch', sentinelPassword: 'w4tch', prefix: 'lender-gateway', replicas: 2 }

    const reach = async (): Promise<boolean> => {
      const connection = await connectRedis(redisSettings({ ...settings, ...asWatch }), 30_000)(() => {})
      return connection.probe().finally(() => connection.destroy())
    }
    // On a busy machine the replicas confirm nothing yet.
    await expect.poll(() => reach().catch(String), { timeout: 60_000 }).toBe(true)

    await expect(connectRedis(redisSettings(settings), 30_000)(() => {})).rejects.toThrow('NOAUTH')
    const wrong = redisSettings({ ...settings, ...asWatch, password: 'wrong' })
    await expect(connectRedis(wrong, 30_000)(() => {})).rejects.toThrow('WRONGPASS')
  })
})

const permissions = '+eval +evalsha +script|load +time +get +set +wait'
