import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type DpopClient, makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { boundTargetUrl, boundToken, requestWithFields, tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

const redisServer = await needProgram('redis-server')
const key = signingKey('ES256', 'issuer')

let holder: DpopClient
let token: string
beforeAll(async () => {
  holder = await makeDpopClient()
  token = boundToken(key, { jkt: holder.jkt })
})

/** Writes a request that an attacker has seen, with its token and its proof. */
const seen = async (): Promise<readonly string[]> => [
  `Authorization: DPoP ${token}`,
  `DPoP: ${await holder.prove({ token, htu: boundTargetUrl })}`,
]

// The attack: an attacker who has seen a request sends it again, token, proof and all. That it is for this very target
// and a few seconds old does not help.
test('a proof is good once', async () => {
  const { port, line } = await bootGateway(tokenBindingSettings(key))
  const [first, second] = [await seen(), await seen()]

  expect([
    await requestWithFields(port, first),
    await requestWithFields(port, first),
    await requestWithFields(port, second),
  ]).toEqual([200, 401, 200])
  await line(({ cause }) => cause === 'the proof has come before')
})

test('and not again after an edit of how old it may be', async () => {
  const live = await bootLiveGateway(tokenBindingSettings(key))
  const { port } = live.gateway.address
  const proof = await seen()
  await requestWithFields(port, proof)

  live.edit(tokenBindingSettings(key, { dpop: { maxAge: '10s' } }))
  expect((await live.gateway.reload('request')).result).toBe('applied')
  expect(await requestWithFields(port, proof)).toBe(401)
  const { body } = await fetchAdmin(`${live.admin}/status`)
  expect(body.tokens).toMatchObject({ proofs: { remembered: 1, room: 1_000_000 } })
})

test('by whichever of several workers it comes in', async () => {
  const script = fileURLToPath(new URL('../../workers/short-timeouts.ts', import.meta.url))
  const gateway = await startWorkerGateway({ workers: 2, ...tokenBindingSettings(key) }, [script])
  onTestFinished(() => gateway.stop())
  const proof = await seen()

  const statuses = await Promise.all(Array.from({ length: 10 }, () => requestWithFields(gateway.port, proof)))

  expect(statuses.toSorted()).toEqual([200, ...new Array(9).fill(401)])
})

describe.skipIf(redisServer.missing)('by whichever of several gateways it comes in', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = await startRedis(redisServer.path ?? '')
  })
  afterAll(() => redis.kill())

  const boot = async (): Promise<TestGateway> => {
    const limits = { redis: { url: redis.url, prefix: 'once', timeout: '1s' } }
    const booted = await bootGateway({ ...tokenBindingSettings(key), limits })
    await booted.line(({ msg }) => msg === 'limits are shared')
    return booted
  }

  test('it is good once', async () => {
    const [one, other] = [await boot(), await boot()]
    const proof = await seen()

    expect([await requestWithFields(one.port, proof), await requestWithFields(other.port, proof)]).toEqual([200, 401])
  })
})
