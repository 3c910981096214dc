/** The contract is learnt by several processes, drawn up as one draft, and used as the file. */
import { request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import { plantSecret } from '../../../features/contract-learning/learn/planted-secret.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { secretEncodings } from '../../../helpers/secret-leaks.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

interface Sent {
  readonly method?: 'GET' | 'POST'
  readonly path?: string
  readonly headers?: readonly string[]
  readonly body?: string
}

/** Sends a request on a connection of its own, so that the workers take turns. */
const send = (port: number, { method = 'POST', path = '/valuation/score', headers = [], body = '' }: Sent) =>
  new Promise<number>((resolve, reject) => {
    const length = method === 'POST' ? ['Content-Length', `${Buffer.byteLength(body)}`] : []
    const fields = ['Host', 'gateway', ...headers, ...length]
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, method, path, agent: false, headers: fields },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })

const json = ['Content-Type', 'application/json']
const valuation = (nth: number): Sent => ({
  path: `/valuation/score?mode=${nth % 2 === 0 ? 'fast' : 'full'}`,
  headers: json,
  body: JSON.stringify({ id: `asset-${nth}`, amount: 100 * nth, parts: [{ id: `part-${nth}` }] }),
})
const insights = (nth: number): Sent => ({ method: 'GET', path: `/market/insights?limit=${nth}` })
const traffic = Array.from({ length: 40 }, (_, nth) => [valuation(nth), insights(nth)]).flat()

const answer = JSON.stringify({ grade: 'A', confidence: 0.5 })
const brokenAnswer = JSON.stringify({ grade: 4, confidence: 0.5 })

const start = async (...args: Parameters<typeof startWorkerGateway>): Promise<WorkerGateway> => {
  const gateway = await startWorkerGateway(...args)
  onTestFinished(() => gateway.stop())
  return gateway
}

const getDraft = async (gateway: WorkerGateway) => JSON.parse((await gateway.ask('GET', '/contract/draft')).body)

/** Waits until every request was learnt, which happens after its response. */
const draftOf = (gateway: WorkerGateway, seen: Readonly<Record<string, string>>) =>
  vi.waitFor(
    async () => {
      const draft = await getDraft(gateway)
      for (const [path, times] of Object.entries(seen))
        expect(Object.values(draft.paths[path])).toMatchObject([{ 'x-seen': times }])
      return draft
    },
    { timeout: 30_000 },
  )

test('what two workers learn is one draft, to which the same traffic is then held', { timeout: 120_000 }, async () => {
  let isBroken = false
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, json).end(isBroken ? brokenAnswer : answer)
  })
  const gateway = await start({ upstream: upstream.url, contract: { learn: true } })
  for (const each of traffic) expect(await send(gateway.port, each)).toBe(200)

  const draft = await draftOf(gateway, {
    '/valuation/score': '40 of 40',
    '/market/insights': '40 of 40',
  })
  gateway.edit({
    upstream: upstream.url,
    contract: { file: contractFile(draft), request: 'enforce', response: 'enforce' },
  })
  const reload = await gateway.ask('POST', '/reload')
  const again = []
  for (const each of traffic) again.push(await send(gateway.port, each))

  expect(reload.status).toBe(200)
  expect(again).toEqual(traffic.map(() => 200))
  expect(draft.paths['/valuation/score'].post.requestBody.content['application/json'].schema).toMatchObject({
    type: 'object',
    required: ['amount', 'id', 'parts'],
    properties: { amount: { type: 'integer' }, parts: { items: { required: ['id'] } } },
  })
  expect(await send(gateway.port, { headers: json, body: '{"id":"a","amount":"7","parts":[]}' })).toBe(400)
  expect(await send(gateway.port, { headers: json, body: '{"id":"a","amount":7}' })).toBe(400)
  expect(await send(gateway.port, { method: 'GET', path: '/market/insights?limit=ten' })).toBe(400)
  isBroken = true
  expect(await send(gateway.port, valuation(1))).toBe(502)
})

drill('a secret in fifty places of the traffic gets out nowhere', { timeout: 120_000 }, async () => {
  const secret = 'sk_live_9fK2mQ7xR4tV8bN1'
  const upstream = await httpUpstream(({ body }, response) => {
    response.writeHead(200, json).end(body)
  })
  const gateway = await start({ upstream: upstream.url, contract: { learn: true, enums: true } })
  const planted = plantSecret(secret).flatMap(({ request, response }): readonly Sent[] => {
    const { contentType, body } = request ?? response
    const fields = (request?.fields ?? []).flatMap((text) => (text === 'Accept' ? ['X-Other'] : [text]))
    const headers = [...fields, 'Content-Type', contentType ?? 'text/plain']
    return [{ path: `/valuation/score${request?.query ?? ''}`, headers, body: JSON.stringify(body) }]
  })
  for (const each of [...traffic, ...planted, ...planted.slice(0, 10)]) await send(gateway.port, each)
  const draft = await draftOf(gateway, { '/market/insights': '40 of 40' })

  const texts = [JSON.stringify(draft)]
  for (const path of [
    '/status',
    '/overview',
    '/contract',
    '/contract/draft',
    '/refused',
    '/config',
    '/metrics',
    '/',
    '/openapi.json',
  ])
    texts.push((await gateway.ask('GET', path)).body)
  texts.push(JSON.stringify(gateway.lines))

  expect(planted.length).toBeGreaterThanOrEqual(50)
  const looks = [...secretEncodings(secret), secret.toLowerCase(), encodeURIComponent(secret)]
  expect(looks.filter((look) => texts.some((text) => text.includes(look)))).toEqual([])
})

drill(
  'what a worker that is killed had learnt stays, and its successor learns as well',
  {
    timeout: 120_000,
  },
  async () => {
    const gateway = await start({}, [
      fileURLToPath(new URL('../../../features/workers/short-timeouts.ts', import.meta.url)),
    ])
    expect(await gateway.ask('POST', '/contract/learn', '{"for":"1h"}')).toMatchObject({ status: 200 })
    const replaceFirst = async (restarts: number): Promise<void> => {
      const [first] = (await gateway.status()).workers
      process.kill(Number(first?.pid), 'SIGKILL')
      await vi.waitFor(
        async () => expect((await gateway.status()).workers[0]).toMatchObject({ state: 'serving', restarts }),
        { timeout: 30_000 },
      )
    }
    const seen = (nth: number) => ({ '/valuation/score': `${nth} of ${nth}`, '/market/insights': `${nth} of ${nth}` })

    for (const each of traffic) await send(gateway.port, each)
    await draftOf(gateway, seen(40))
    // The primary asks ten times a second. A draft that comes after its question comes after the reply to it.
    const learntBy = Date.now()
    await vi.waitFor(
      async () => {
        await getDraft(gateway)
        expect(Date.now() - learntBy).toBeGreaterThan(1000)
      },
      { timeout: 30_000 },
    )
    await replaceFirst(1)
    for (const each of traffic) await send(gateway.port, each)

    await draftOf(gateway, seen(80))
    expect(await gateway.ask('POST', '/contract/learn', '{"for":"1h"}')).toMatchObject({ status: 200 })
    await replaceFirst(2)
    expect(await getDraft(gateway)).toMatchObject({ code: 'nothing-learnt' })
  },
)
