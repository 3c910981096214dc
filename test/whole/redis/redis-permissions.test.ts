/** The users of docs/redis.md at a real Redis: their permissions suffice, and none is superfluous. */
import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findScript, renewScript, storeScript } from '../../../src/features/cache/redis/redis-entry.ts'
import { beginRecord } from '../../../src/features/candidate/shift/shift-record.ts'
import { callShiftStore } from '../../../src/features/candidate/shift/shift-store.ts'
import { RedisIdempotencyStore } from '../../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../../src/features/idempotency/store/response-sealer.ts'
import { connectRedis, type RedisConnection } from '../../../src/features/redis/redis-connection.ts'
import { removeScript } from '../../../src/features/redis/redis-server.ts'
import { createClaim } from '../../features/idempotency/idempotency-claim.ts'
import { redisForAll, redisProgram } from '../../features/redis/redis-for-all.ts'
import { redisSettings } from '../../features/redis/redis-settings.ts'

const page = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8')

/** Reads the rules of a user on the page. */
const rulesOf = (user: string): readonly string[] =>
  new RegExp(`^user ${user} (.+)$`, 'm').exec(page)?.[1]?.replace('PASSWORD', 'secret').split(' ') ?? []

const space = 'lender-gateway'

const runLimits = async (connection: RedisConnection, forgetScripts: () => Promise<unknown>): Promise<void> => {
  await connection.probe()
  await forgetScripts() // as a restart behind a proxy does
  for (let n = 0; n < 2; n++) await connection.consume(`${space}:key`, 0.001, 5)
  await runShift(connection.run)
}

const runCache = async (connection: RedisConnection): Promise<void> => {
  const generations = ['a', 'b', 'c'].map((name) => `${space}:${name}`)
  const store = (known: readonly string[]) =>
    connection.run(storeScript, {
      keys: [`${space}:base`, `${space}:variant`, ...generations],
      args: [...known, 'new', '1000', '1000', 'accept', 'head', 'body', '', '0', '0'],
    })
  await connection.probe()
  await store(['', '', ''])
  await store(['new', 'new', 'new'])
  const found = await connection.run(findScript, { keys: [`${space}:variant`, ...generations], args: ['1000'] })
  if (!Array.isArray(found) || String(found.at(-1)) !== 'body') throw new Error(`it found ${found}`)
  await connection.run(removeScript, { keys: [`${space}:base`], args: [] })
  await connection.run(renewScript, { keys: generations, args: ['newer', '1000'] })
}

const runIdempotency = async (connection: RedisConnection, forgetScripts: () => Promise<unknown>): Promise<void> => {
  const link = { isShared: true, run: connection.run, failure: null }
  const sealer = createResponseSealer([Buffer.alloc(32)])
  const store = new RedisIdempotencyStore({ link, prefix: space, sealer, counts: { rejected: 0 }, logEvent: () => {} })
  const claim = createClaim()
  await connection.probe()
  await forgetScripts()
  await store.call({ type: 'claim', claim })
  await store.call({ type: 'renew', claim })
  await store.call({ type: 'settle', claim, settlement: { state: 'free' } })
  await store.call({ type: 'claim', claim })
  await store.call({ type: 'settle', claim, settlement: { state: 'done', fingerprint: null, response: null } })
  await store.call({ type: 'find', key: claim })
  await store.call({ type: 'forget', key: claim })
  await runShift(connection.run)
}

/** Keeps a shift, which the users of limits and of idempotency do. */
const runShift = async (run: RedisConnection['run']): Promise<void> => {
  const link = { run }
  const place = { group: 'risk', digest: 'a' } as const
  const reply = await callShiftStore(link, space, place, '', beginRecord({ digest: 'a', share: 0, steps: null }, 0))
  if (reply?.kind !== 'kept') throw new Error(`it was not kept: ${reply?.kind}`)
  await callShiftStore(link, space, place, reply.version, null)
}

const uses = [
  ['limits', runLimits],
  ['cache', runCache],
  ['idempotency', runIdempotency],
] as const

describe.skipIf(redisProgram.missing)('a user of its own', () => {
  const redis = redisForAll()

  const forgetScripts = (): Promise<unknown> => redis.client.sendCommand(['SCRIPT', 'FLUSH'])

  /** Connects as a user with these rules, to a Redis that knows no script and no key. */
  const connectAs = async (user: string, rules: readonly string[]): Promise<RedisConnection> => {
    await redis.client.flushAll()
    await forgetScripts()
    await redis.client.sendCommand(['ACL', 'SETUSER', user, 'reset', ...rules])
    const settings = { url: redis.url, username: user, password: 'secret', prefix: space }
    const connection = await connectRedis(redisSettings(settings), 30_000)(() => {})
    onTestFinished(() => connection.destroy())
    return connection
  }

  test.each(uses)('of %s is allowed what it needs', async (user, use) => {
    await use(await connectAs(user, rulesOf(user)), forgetScripts)
  })

  const each = uses.flatMap(([user, use]) =>
    rulesOf(user)
      .filter((rule) => rule.startsWith('+'))
      .map((rule) => [user, rule, use] as const),
  )

  test('each has permissions on the page', () => {
    expect(each.length).toBeGreaterThan(10)
  })

  test.each(each)('of %s needs %s', async (user, rule, use) => {
    const rules = rulesOf(user).filter((other) => other !== rule)

    const used = connectAs(user, rules).then((connection) => use(connection, forgetScripts))

    // A lookup that is not allowed to read finds nothing.
    await expect(used).rejects.toThrow(/NOPERM|ACL failure|can't run this command|it found/)
  })

  test.each(uses)('of %s reaches no other key', async (user) => {
    const connection = await connectAs(user, rulesOf(user))

    await expect(connection.consume('other:key', 0.001, 5)).rejects.toThrow(/NOPERM|No permissions/)
  })
})
