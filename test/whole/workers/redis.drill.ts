/** Two gateways of two workers each, which share a Redis: what keys led to, and how much goes to a candidate. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { type Redis, startRedis } from '../../helpers/redis.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call, fieldValues } from '../../helpers/wire.ts'
import { startWorkerGateway } from '../../helpers/worker-gateway.ts'

const program = await needProgram('redis-server')

const post = async (port: number, key: string) => {
  const response = await call(port, {
    method: 'POST',
    target: '/financing/pre-approval',
    fields: ['Idempotency-Key', key],
    body: Buffer.from('abc'),
  })
  const text = response.body.toString()
  return { status: response.status, text, code: text.startsWith('{') ? String(JSON.parse(text).code) : null }
}

/** Starts two gateways, and waits until each of their workers uses Redis. */
const startGateways = (upstream: string, { url }: Redis) =>
  Promise.all(
    [1, 2].map(async () => {
      const gateway = await startWorkerGateway({
        upstream,
        workers: 2,
        operations: { 'financing.pre-approval': { idempotency: true } },
        idempotency: {
          // On a busy machine a reply may take long.
          redis: { url, timeout: '1s' },
          encryptionKeys: [Buffer.alloc(32, 1).toString('base64')],
        },
      })
      onTestFinished(() => gateway.stop())
      for (const worker of [1, 2])
        await gateway.line((line) => line.msg === 'idempotency store is available' && line.worker === worker)
      return gateway
    }),
  )

describe.skipIf(program.missing)('two gateways of two workers', () => {
  test('have a key processed once, of a thousand requests at a time', async () => {
    const redis = await startRedis(program.path ?? '')
    onTestFinished(() => redis.kill())
    const upstream = await httpUpstream((_, response) => setTimeout(() => response.end('done'), 200))
    const gateways = await startGateways(upstream.url, redis)

    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, nth) => post(gateways[nth % 2]?.port ?? 0, 'k-1')),
    )
    const later = await Promise.all(gateways.map(({ port }) => post(port, 'k-1')))

    expect(upstream.requests).toHaveLength(1)
    const counts = new Map<string, number>()
    for (const { status, code, text } of [...answers, ...later]) {
      const shown = `${status} ${code ?? text}`
      counts.set(shown, (counts.get(shown) ?? 0) + 1)
    }
    expect([...counts.keys()].filter((each) => !['200 done', '409 request-in-progress'].includes(each))).toEqual([])
    expect(later.map(({ status }) => status)).toEqual([200, 200])
  })

  test('have nothing processed twice while Redis is killed and started again, and soon go on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'aof-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const redis = await startRedis(program.path ?? '', ['--appendonly', 'yes', '--dir', folder])
    onTestFinished(() => redis.kill())
    const processed = new Map<string, number>()
    const upstream = await httpUpstream((request, response) => {
      const key = String(fieldValues(request.rawHeaders, 'idempotency-key')[0])
      processed.set(key, (processed.get(key) ?? 0) + 1)
      response.end(key)
    })
    const gateways = await startGateways(upstream.url, redis)
    const answers: { readonly at: number; readonly status: number; readonly code: string | null }[] = []
    const ends = new Map<string, string>()
    let isStopped = false
    let isOver = false
    onTestFinished(() => {
      isStopped = isOver = true
    })

    // Each client repeats a key until it has an end, at either gateway.
    const client = async (lane: number): Promise<void> => {
      for (let nth = 0; !isStopped; nth++) {
        const key = `${lane}-${nth}`
        for (let attempt = 0; !isOver; attempt++) {
          const { status, code, text } = await post(gateways[(lane + attempt) % 2]?.port ?? 0, key)
          answers.push({ at: performance.now(), status, code })
          if (status === 503 || code === 'request-in-progress') await pause(20)
          else {
            ends.set(key, status === 200 && text === key ? '200' : `${status} ${code}`)
            break
          }
        }
      }
    }
    const clients = Array.from({ length: 16 }, (_, lane) => client(lane))
    const isAnswered = (wanted: number, from: number) =>
      expect.poll(() => answers.filter(({ at, status }) => status === wanted && at > from).length, patient)

    const outages: (readonly [from: number, to: number])[] = []
    for (let nth = 0; nth < 3; nth++) {
      await isAnswered(200, outages.at(-1)?.[1] ?? 0).toBeGreaterThan(200)
      const from = performance.now()
      await redis.kill()
      await isAnswered(503, from).toBeGreaterThan(50)
      await redis.restart()
      outages.push([from, performance.now()])
    }
    await isAnswered(200, outages.at(-1)?.[1] ?? 0).toBeGreaterThan(200)
    isStopped = true
    await Promise.all(clients)

    const gaps = outages.map(([, to]) => (answers.find(({ at, status }) => at > to && status === 200)?.at ?? 0) - to)
    console.info(
      `${ends.size} keys, ${answers.filter(({ status }) => status === 503).length} refusals; first success after ${gaps.map(Math.round).join(', ')} ms`,
    )
    const [firstOutage = 0] = outages[0] ?? []
    expect(answers.filter(({ at, status }) => status === 503 && at < firstOutage)).toEqual([])
    expect([...processed].filter(([, times]) => times > 1)).toEqual([])
    expect(new Set(ends.values())).toEqual(new Set(['200']))
    expect(processed.size).toBe(ends.size)
  })

  test('have one shift: what one is told holds in all workers of the other, and when that is started again', async () => {
    const redis = await startRedis(program.path ?? '')
    onTestFinished(() => redis.kill())
    const [primary, candidate] = [
      await httpUpstream((_, response) => void response.end('primary')),
      await httpUpstream((_, response) => void response.end('candidate')),
    ]
    const settings = {
      workers: 2,
      upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], share: '100%' } } },
      limits: { redis: { url: redis.url, timeout: '1s' } },
    }
    const start = async () => {
      const gateway = await startWorkerGateway(settings)
      onTestFinished(() => gateway.stop())
      return gateway
    }
    const [told, other] = [await start(), await start()]
    const askMany = async ({ port }: { readonly port: number }) => {
      const answers = Array.from({ length: 10 }, async () => {
        const response = await fetch(`http://127.0.0.1:${port}/market/insights`, { headers: { Connection: 'close' } })
        return response.text()
      })
      return [...new Set(await Promise.all(answers))]
    }
    // Until Redis has replied, a gateway that starts holds its candidate.
    for (const each of [told, other]) await expect.poll(() => askMany(each), { timeout: 30_000 }).toEqual(['candidate'])

    await told.ask('POST', '/shift', JSON.stringify({ group: 'market', abort: true, reason: 'CHG-4711' }))
    await expect.poll(() => askMany(other), { timeout: 30_000 }).toEqual(['primary'])
    const again = await start()

    expect([await askMany(told), await askMany(again)]).toEqual([['primary'], ['primary']])
  })
})

const patient = { timeout: 60_000 }

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
