/**
 * The memory of a gateway that copies everything, to candidates that are bad in every way, is flat: for 2 minutes, or
 * `SHADOW_MINUTES=20 npx vitest run test/features/candidate/wire/shadow-memory.drill.ts`.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { allOperations, groups, type Operation } from '../../../../src/operations.ts'
import { candidateWays, openShadowCandidate } from '../../../../tools/bench/shadow-candidate.ts'
import { median } from '../../../../tools/bench/stats.ts'
import { fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { bootEditedGateway, type Heap } from '../../../helpers/edited-gateway.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { configText } from '../../../helpers/gateway.ts'

const minutes = Number(process.env.SHADOW_MINUTES ?? 0.5)
const samples = 40
const lanes = 8
const paceMs = 25
const mebibyte = 1024 ** 2

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const sizes = [0, 100, 5_000, 60_000, 200_000]
const bodies = sizes.map((size) => randomBytes(size))

/** Opens a server that responds with what it was asked for, at times at length. */
const openPrimary = async (): Promise<string> => {
  let responded = 0
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk: Buffer) => hash.update(chunk))
    request.on('end', () => {
      const padding = ++responded % 7 === 0 ? ' '.repeat(150_000) : ''
      response.end(`${request.url} ${hash.digest('hex')}${padding}`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends a request; resolves to what is wrong about the response, null: nothing. */
const ask = async ({ method, path }: Operation, nth: number, url: string): Promise<string | null> => {
  const body = method === 'POST' ? (bodies[nth % bodies.length] as Buffer<ArrayBuffer>) : null
  const wanted = `${path}?n=${nth} ${sha256(body ?? Buffer.alloc(0))}`
  try {
    const response = await fetch(`${url}${path}?n=${nth}`, { method, body })
    const text = await response.text()
    return response.status === 200 && text.startsWith(wanted) ? null : `${response.status} ${text.slice(0, 100)}`
  } catch (error) {
    return String(error)
  }
}

test(
  'memory is flat, and no request of a client fails',
  async () => {
    const primary = await openPrimary()
    const ways = [...Object.keys(candidateWays), 'refuses', 'responds']
    const upstreams: Record<string, unknown> = {}
    for (const [at, group] of groups.entries()) {
      const way = ways[at % ways.length] ?? ''
      const candidate = way === 'refuses' ? { port: await freePort(), close: () => {} } : await openShadowCandidate(way)
      onTestFinished(() => candidate.close())
      const posts = allOperations.some((each) => each.group === group && each.method === 'POST')
      const shadow = { sample: '100%', timeout: '5s', ...(posts ? { posts, sideEffects: 'none' } : {}) }
      upstreams[group] = {
        endpoints: [primary],
        timeouts: { connect: '30s', headers: '30s' }, // a slow machine fails no request of a client
        candidate: { endpoints: [`http://127.0.0.1:${candidate.port}`], shadow },
      }
    }
    const file = fileWrittenInPlace(onTestFinished)
    file.write(configText({ upstreams, log: { access: false } }))
    const gateway = await bootEditedGateway(file, onTestFinished)
    const url = `http://127.0.0.1:${gateway.port}`
    const wrong = new Set<string>()
    let [asked, isOver] = [0, false]
    const loads = Array.from({ length: lanes }, async () => {
      while (!isOver) {
        const nth = asked++
        const found = await ask(allOperations[nth % allOperations.length] as Operation, nth, url)
        if (found !== null && wrong.size < 10) wrong.add(found)
        await pause(paceMs)
      }
    })

    const heaps: Heap[] = []
    for (let i = 0; i < samples; i++) {
      await pause((minutes * 60_000) / samples)
      heaps.push(await gateway.heap())
    }
    isOver = true
    await Promise.all(loads)

    // The first quarter warms up.
    const part = (from: number, to: number, of: keyof Heap): number =>
      median(heaps.slice((samples * from) / 4, (samples * to) / 4).map((each) => each[of])) / mebibyte
    const heap = [part(1, 2, 'usedBytes'), part(3, 4, 'usedBytes')] as const
    const resident = [part(1, 2, 'residentBytes'), part(3, 4, 'residentBytes')] as const
    const show = ([early, late]: readonly [number, number]): string =>
      `${early.toFixed(1)} MiB, then ${late.toFixed(1)} MiB`
    console.log(`${asked} requests in ${minutes} min; heap ${show(heap)}; resident ${show(resident)}`)
    expect([...wrong]).toEqual([])
    expect(heap[1] - heap[0]).toBeLessThan(4)
    expect(resident[1] - resident[0]).toBeLessThan(48)
  },
  (minutes + 2) * 60_000,
)
