/** Workers that are replaced while the issuer of tokens is down: their successors are handed its keys. */
import { expect, onTestFinished } from 'vitest'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { kill, startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

const first = signingKey('ES256', 'first')
const second = signingKey('ES256', 'second')
const unknown = signingKey('ES256', 'unknown')
const forged = { ...signingKey('ES256', 'first'), kid: 'first' }

/** Starts two workers, and an issuer that publishes `published.text`. */
const start = async () => {
  const upstream = await httpUpstream((_, response) => void response.end('first'))
  const published = { text: jwks(first) }
  const server = await httpUpstream((_, response) => void response.end(published.text))
  const gateway = await startWorkerGateway({
    upstream: upstream.url,
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: `${server.url}/jwks` } },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['market.insights'] }],
  })
  onTestFinished(() => gateway.stop())
  return { gateway, server, published }
}

/** Sends so many requests, each on its own connection: workers get connections in turn. */
const statuses = (gateway: WorkerGateway, token: string, count = 6): Promise<readonly number[]> =>
  Promise.all(
    Array.from({ length: count }, async () =>
      parseStatus(
        await exchangeRaw(
          gateway.port,
          `GET /market/insights HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
        ),
      ),
    ),
  )

/** Kills workers, and waits until their successors serve. */
const replace = async (gateway: WorkerGateway, pids: readonly (number | null)[]): Promise<void> => {
  for (const pid of pids) kill(pid ?? 0, 'SIGKILL')
  await expect
    .poll(
      async () =>
        (await gateway.status()).workers.filter(({ pid, state }) => state === 'serving' && !pids.includes(pid)).length,
      { timeout: 30_000 },
    )
    .toBe(2)
}

const all = (status: number): readonly number[] => Array(6).fill(status)

test('a worker that is replaced while the issuer is down takes the tokens that the others take, and no others', async () => {
  const { gateway, server } = await start()
  const token = signToken(first)
  expect(await statuses(gateway, token)).toEqual(all(200))
  const [worker] = (await gateway.status()).workers
  await server.close()

  await replace(gateway, [worker?.pid ?? null])

  expect(await statuses(gateway, token)).toEqual(all(200))
  expect(await statuses(gateway, signToken(forged))).toEqual(all(401))
  expect(await statuses(gateway, signToken(first, claims({ exp: 1 })))).toEqual(all(401))
  expect(await statuses(gateway, signToken(unknown))).toEqual(all(503))
})

drill('the keys that one worker has fetched last are those of all successors, and as old as they are', async () => {
  const { gateway, server, published } = await start()
  published.text = jwks(second)
  expect(await statuses(gateway, signToken(second), 1)).toEqual([200])
  await server.close()
  const closedAt = Date.now()

  await replace(
    gateway,
    (await gateway.status()).workers.map(({ pid }) => pid),
  )

  expect(await statuses(gateway, signToken(second))).toEqual(all(200))
  // The set that a worker has fetched last does not hold the first key any more.
  expect(await statuses(gateway, signToken(first))).toEqual(all(503))
  const { jwt } = (await gateway.status()).tokens
  expect(jwt).toMatchObject({ keys: 1, error: expect.any(String), where: null })
  expect(Date.parse(jwt?.lastSuccess ?? '')).toBeLessThanOrEqual(closedAt)
})
