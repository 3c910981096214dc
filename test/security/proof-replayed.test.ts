import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Holder, makeHolder } from '../helpers/dpop.ts'
import { bootGateway, type TestGateway } from '../helpers/gateway.ts'
import { askAdmin, bootLive } from '../helpers/live-gateway.ts'
import { askWith, boundToken, here, possession } from '../helpers/possession.ts'
import { needProgram } from '../helpers/program.ts'
import { type Redis, startRedis } from '../helpers/redis.ts'
import { signingKey } from '../helpers/tokens.ts'
import { startCrew } from '../serving/crew-process.ts'

const redisServer = await needProgram('redis-server')
const key = signingKey('ES256', 'issuer')

let holder: Holder
let token: string
beforeAll(async () => {
  holder = await makeHolder()
  token = boundToken(key, { jkt: holder.jkt })
})

/** Writes a request that somebody has seen, with its token and its proof. */
const seen = async (): Promise<readonly string[]> => [
  `Authorization: DPoP ${token}`,
  `DPoP: ${await holder.prove({ token, htu: here })}`,
]

// The attack: whoever has seen a request sends it again, token, proof and all. That it is for this very target and a few seconds old does not help.
test('a proof is good once', async () => {
  const { port, line } = await bootGateway(possession(key))
  const [first, second] = [await seen(), await seen()]

  expect([await askWith(port, first), await askWith(port, first), await askWith(port, second)]).toEqual([200, 401, 200])
  await line(({ cause }) => cause === 'the proof has come before')
})

test('and not again after an edit of how old it may be', async () => {
  const live = await bootLive(possession(key))
  const { port } = live.gateway.address
  const proof = await seen()
  await askWith(port, proof)

  for (const maxAge of ['5m', '10s']) {
    live.edit(possession(key, { dpop: { maxAge } }))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    expect(await askWith(port, proof)).toBe(401)
  }
  const { body } = await askAdmin(`${live.admin}/status`)
  expect(body.tokens).toMatchObject({ proofs: { remembered: 1, room: 1_000_000 } })
})

test('by whichever of several workers it comes in', async () => {
  const impatient = fileURLToPath(new URL('../serving/impatient.ts', import.meta.url))
  const crew = await startCrew({ workers: 2, ...possession(key) }, [impatient])
  onTestFinished(() => crew.stop())
  const proof = await seen()

  const statuses = await Promise.all(Array.from({ length: 10 }, () => askWith(crew.port, proof)))

  expect(statuses.toSorted()).toEqual([200, ...new Array(9).fill(401)])
})

describe.skipIf(redisServer.missing)('by whichever of several gateways it comes in', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = await startRedis(redisServer.path ?? '')
  })
  afterAll(() => redis.kill())

  const boot = async (prefix: string, dpop: object = {}): Promise<TestGateway> => {
    const limits = { redis: { url: redis.url, prefix, timeout: '1s' } }
    const booted = await bootGateway({ ...possession(key, { dpop }), limits })
    await booted.line(({ msg }) => msg === 'limits are shared')
    return booted
  }
  const down = ({ line }: TestGateway) => line(({ msg }) => msg === 'limits are not shared')

  test('it is good once', async () => {
    const [one, other] = [await boot('once'), await boot('once')]
    const proof = await seen()

    expect([await askWith(one.port, proof), await askWith(other.port, proof)]).toEqual([200, 401])
  })

  test('without Redis none is taken, or each once at each gateway: as it is configured', async () => {
    const [strict, lax] = [await boot('strict'), await boot('lax', { withoutRedis: 'serve' })]
    const before = await seen()
    expect([await askWith(strict.port, before), await askWith(lax.port, before)]).toEqual([200, 200])
    await redis.kill()
    await Promise.all([down(strict), down(lax)])
    const after = await seen()

    expect([await askWith(strict.port, after), await askWith(strict.port, before)]).toEqual([503, 401])
    expect([await askWith(lax.port, after), await askWith(lax.port, after), await askWith(lax.port, before)]).toEqual([
      200, 401, 401,
    ])
  })
})
