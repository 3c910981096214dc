/** Idempotency keys while the replica of a real Redis stands still: replays write nothing and do not wait. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Claim } from '../../../../src/features/idempotency/store/idempotency-store.ts'
import { RedisIdempotencyStore } from '../../../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../../../src/features/idempotency/store/response-sealer.ts'
import { connectRedis } from '../../../../src/features/redis/redis-connection.ts'
import { RedisRegistry } from '../../../../src/features/redis/redis-registry.ts'
import { bootGateway, type LogLine } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { redisSettings } from '../../redis/redis-settings.ts'
import { createClaim, repeatClaim } from '../idempotency-claim.ts'
import { once, post } from './keyed-post.ts'

const program = await needProgram('redis-server')

const patient = { timeout: 60_000, interval: 20 }

const isAvailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is available'
const isUnavailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is unavailable'

const replayed = '200 done replayed'
const unavailable = '503 idempotency-unavailable'

describe.skipIf(program.missing)('a master with one replica', { timeout: 120_000 }, () => {
  let master: Redis
  let replica: Redis
  let folder: string
  beforeEach(async () => {
    const path = program.path ?? ''
    // A replica that stands still is not given up within the test.
    folder = mkdtempSync(join(tmpdir(), 'replica-'))
    const patience = ['--repl-diskless-sync-delay', '0', '--repl-timeout', '600', '--dir', folder]
    master = await startRedis(path, patience)
    replica = await startRedis(path, [...patience, '--replicaof', `127.0.0.1 ${master.port}`])
    const confirm = async (): Promise<boolean> => {
      const settings = redisSettings({ url: master.url, timeout: 60_000, replicas: 1 })
      const connection = await connectRedis(settings, 60_000)(() => {})
      return connection.probe().finally(() => connection.destroy())
    }
    // A gateway that starts before the replica confirms what is written logs an outage of its own.
    await expect.poll(() => confirm().catch(String), patient).toBe(true)
  })
  afterEach(async () => {
    replica.thaw()
    await Promise.all([master.kill(), replica.kill()])
    rmSync(folder, { recursive: true })
  })

  test('a replay comes while a claim waits for the replica', async () => {
    const settings = redisSettings({ url: master.url, timeout: 60_000, replicas: 1 })
    const { link, replicated, release } = new RedisRegistry(() => {}).acquire(settings, 'records')
    onTestFinished(release)
    const sealer = createResponseSealer([Buffer.alloc(32)])
    const counts = { rejected: 0 }
    const store = new RedisIdempotencyStore({ link, replicated, prefix: 'p', sealer, counts, logEvent: () => {} })
    const claimOf = (claim: Claim) => store.call({ type: 'claim', claim })
    await expect.poll(() => link.isShared && replicated?.isShared, patient).toBe(true)
    const [finished, fresh] = [createClaim(), createClaim()]
    await claimOf(finished)
    const response = Buffer.from('kept')
    await store.call({ type: 'settle', claim: finished, settlement: { state: 'done', fingerprint: 'f-1', response } })

    replica.freeze()
    let hasWaited = false
    const claimed = claimOf(fresh).finally(() => {
      hasWaited = true
    })
    // Those that come at once, and those that come one after the other.
    const results = await Promise.all(Array.from({ length: 10 }, () => claimOf(repeatClaim(finished))))
    for (let n = 0; n < 10; n++) results.push(await claimOf(repeatClaim(finished)))

    expect(results).toEqual(Array(20).fill(expect.objectContaining({ state: 'done', response })))
    await expect.poll(() => claimOf(repeatClaim(fresh)), patient).toMatchObject({ state: 'in-progress' })
    expect(await store.call({ type: 'find', key: finished })).toMatchObject({ state: 'done' })
    expect(hasWaited).toBe(false)
    replica.thaw()
    expect(await claimed).toEqual({ state: 'claimed' })
  })

  test('replays come while the store is unavailable to new keys, also to a gateway that starts then', async () => {
    const start = async () => {
      const upstream = await httpUpstream((_, response) => response.end('done'))
      const gateway = await bootGateway({
        ...{ upstream: upstream.url, ...once },
        idempotency: {
          redis: { url: master.url, timeout: '1s' },
          replicas: 1,
          encryptionKeys: [Buffer.alloc(32).toString('base64')],
        },
      })
      return { upstream, ...gateway }
    }
    const first = await start()
    await first.line(isAvailable)
    await post(first.port, 'finished')

    // A starved replica may have confirmed too late before.
    const before = first.lines.length
    const since = () => first.lines.slice(before)
    replica.freeze()
    while (!since().some(isUnavailable)) {
      expect(await post(first.port, `fresh-${first.lines.length}`)).toBe(unavailable)
      expect(await post(first.port, 'finished')).toBe(replayed)
    }
    const second = await start()
    await second.line(isUnavailable)

    for (const { port } of [first, second]) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(port, 'finished')))
      expect(responses).toEqual(Array(20).fill(replayed))
      const other = { body: Buffer.from('another body') }
      expect(await post(port, 'finished', other)).toBe('422 idempotency-key-reused')
      expect(await post(port, 'another-fresh')).toBe(unavailable)
    }
    for (const lines of [since(), second.lines])
      expect(lines.find(isUnavailable)?.reason).toBe('0 of 1 replicas have the write')

    replica.thaw()
    await second.line(isAvailable)
    expect(await post(second.port, 'another-fresh')).toBe('200 done')
    await expect.poll(() => since().filter(isAvailable).length, patient).toBe(1)
    expect(since().filter(isUnavailable)).toHaveLength(1)
    expect(first.upstream.requests).toHaveLength(1)
  })
})
