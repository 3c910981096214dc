import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type DpopClient, makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startRedis } from '../../../helpers/redis.ts'
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
test('a proof is good once, and not again after an edit of how old it may be', async () => {
  const live = await bootLiveGateway(tokenBindingSettings(key))
  const { port } = live.gateway.address
  const [first, second] = [await seen(), await seen()]
  const statuses: number[] = []

  for (const fields of [first, first, second]) statuses.push(await requestWithFields(port, fields))
  await live.line(({ cause }) => cause === 'the proof has come before')
  live.edit(tokenBindingSettings(key, { dpop: { maxAge: '10s' } }))
  expect((await live.gateway.reload('request')).result).toBe('applied')
  statuses.push(await requestWithFields(port, first))

  expect(statuses).toEqual([200, 401, 200, 401])
  const { body } = await fetchAdmin(`${live.admin}/status`)
  expect(body.tokens).toMatchObject({ proofs: { remembered: 2, room: 1_000_000 } })
})

test('nor is it by another of several workers', async () => {
  const script = fileURLToPath(new URL('../../workers/short-timeouts.ts', import.meta.url))
  const gateway = await startWorkerGateway({ workers: 2, ...tokenBindingSettings(key) }, [script])
  onTestFinished(() => gateway.stop())
  const proof = await seen()

  const statuses = await Promise.all(Array.from({ length: 10 }, () => requestWithFields(gateway.port, proof)))

  expect(statuses.toSorted()).toEqual([200, ...new Array(9).fill(401)])
})

test.skipIf(redisServer.missing)('nor by another of several gateways', async () => {
  const redis = await startRedis(redisServer.path ?? '')
  onTestFinished(() => redis.kill())
  const proof = await seen()
  const statuses: number[] = []

  for (let n = 0; n < 2; n++) {
    const limits = { redis: { url: redis.url, prefix: 'once', timeout: '1s' } }
    const { line, port } = await bootGateway({ ...tokenBindingSettings(key), limits })
    await line(({ msg }) => msg === 'limits are shared')
    statuses.push(await requestWithFields(port, proof))
  }

  expect(statuses).toEqual([200, 401])
})
