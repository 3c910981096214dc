import { expect, onTestFinished, test, vi } from 'vitest'
import { RedisIdempotencyStore } from '../../../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../../../src/features/idempotency/store/response-sealer.ts'
import { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../../../src/features/redis/redis-connection.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startCluster } from '../../../helpers/redis-topology.ts'
import { redisSettings } from '../../redis/redis-settings.ts'
import { createClaim, repeatClaim } from '../idempotency-claim.ts'

const [server, cli] = [await needProgram('redis-server'), await needProgram('redis-cli')]

test.skipIf(server.missing ?? cli.missing)(
  'a cluster remembers the keys of each client at one of its nodes',
  async () => {
    const cluster = await startCluster({ server: server.path ?? '', cli: cli.path ?? '' }, 0, undefined, 30_000)
    onTestFinished(() => cluster.stop())
    const settings = redisSettings({ cluster: cluster.urls })
    const link = new ManagedRedis({ connect: connectRedis(settings), timeoutMs: 30_000, onChange: () => {} })
    onTestFinished(() => link.close())
    await vi.waitFor(() => expect(link.isShared).toBe(true), 30_000)
    const sealer = createResponseSealer([Buffer.alloc(32, 1)])
    const store = new RedisIdempotencyStore({
      link,
      prefix: 'test',
      sealer,
      counts: { rejected: 0 },
      logEvent: () => {},
    })
    const response = Buffer.from('the response')

    const results = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const claim = createClaim()
        const first = await store.call({ type: 'claim', claim })
        const isRenewed = await store.call({ type: 'renew', claim })
        const settlement = { state: 'done', fingerprint: 'f-1', response } as const
        const isSettled = await store.call({ type: 'settle', claim, settlement })
        const second = await store.call({ type: 'claim', claim: repeatClaim(claim) })
        return [first?.state, isRenewed, isSettled, second?.state, await store.call({ type: 'forget', key: claim })]
      }),
    )

    expect(results).toEqual(Array(200).fill(['claimed', true, true, 'done', true]))
    const sizes = await Promise.all(cluster.nodes.map((node) => cluster.ask(node, 'DBSIZE')))
    expect(sizes.filter((size) => Number(size) > 20)).toHaveLength(3)
  },
)
