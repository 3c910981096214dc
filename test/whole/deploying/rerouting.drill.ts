/**
 * The way of docs/rerouting.md, as printed, under load: a back end is rehearsed on copies, gets clients step by step,
 * is taken back for a defect, mended and promoted. Both back ends are real, and so is the gateway, with two workers.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startBackEnd } from '../../helpers/back-end-nginx.ts'
import { startClosedLoop } from '../../helpers/closed-loop-load.ts'
import { needProgram } from '../../helpers/program.ts'
import { blocksBelow, prepareSteps, textsOf } from './documented-steps.ts'

const [npm, nginx] = [await needProgram('npm'), await needProgram('nginx')]
const wait = { timeout: 120_000, interval: 100 }
const clients = 200

/** What came of a request. */
interface Response {
  readonly client: number
  readonly status: number
  /** The release that responded. Null: the gateway did. */
  readonly release: string | null
}

interface Status {
  readonly upstreams: {
    readonly market: { readonly candidate: { readonly shift: object & { readonly share: number } } | null }
  }
}

describe.skipIf(npm.missing ?? nginx.missing)('from the first copy to the last client', () => {
  test('by the blocks of the page: only the defect of the candidate fails requests', { timeout: 420_000 }, async () => {
    const [old, next] = [await startBackEnd(nginx.path ?? '', 'old'), await startBackEnd(nginx.path ?? '', 'next')]
    onTestFinished(() => old.stop())
    onTestFinished(() => next.stop())
    const mapped = (text: string): string =>
      text
        .replaceAll('http://market-1.internal:8080', old.origin)
        .replaceAll('http://market-2.internal:8080', next.origin)
        .replaceAll('every: 15m', 'every: 10s')
    const documented = await prepareSteps(npm, mapped)
    const { checkout, url, run, ask, causes } = documented
    const blocks = blocksBelow('docs/rerouting.md', '## A reroute, from the first copy to the last client')
    const [group = '', steps = ''] = textsOf(blocks, 'yaml').map(mapped)
    const [tryIt = '', report = '', look = '', resume = '', promote = ''] = textsOf(blocks, 'sh')
    const write = (market: string): void =>
      documented.write((config) =>
        config
          .replace('# trustedProxies: [10.0.0.0/8]', 'trustedProxies: [127.0.0.1]')
          .replace(/^ {2}market: sandbox.*\n/m, market),
      )
    const shift = async () => (await ask<Status>('/status')).upstreams.market.candidate?.shift ?? null

    write(`  market: ${old.origin}\n`)
    const gateway = await documented.start()
    let nextClient = 0
    const load = startClosedLoop<Response>(async () => {
      const client = nextClient++ % clients
      const response = await fetch(`${url}/market/insights?asset=A-1`, {
        headers: { 'X-Forwarded-For': `198.18.0.${client}`, Authorization: `Bearer ${client}` },
      })
      await response.arrayBuffer()
      await pause(150)
      return { client, status: response.status, release: response.headers.get('x-release') }
    })
    onTestFinished(() => load.stop())
    const failed = () => load.responses.filter(({ status }) => status !== 200)
    const servedByNext = () => load.responses.filter(({ release }) => release === 'next').length

    // 1. The candidate gets copies. Its release has a defect.
    await next.plant('wrong-grade')
    write(group)
    await run(tryIt)
    await expect.poll(shift, wait).toMatchObject({ share: 0 })
    await expect.poll(async () => (await next.requests()).length, wait).toBeGreaterThan(50)
    const copies = await next.requests()
    expect(new Set(copies.map(({ shadow, authorization }) => shadow + authorization))).toEqual(new Set(['1']))

    // 2. The report names it, and nothing else.
    const differing = async () => [...(await run(report)).matchAll(/^market\.insights: (\S+)/gm)].map(([, at]) => at)
    await expect.poll(differing, wait).toEqual(['/grade'])
    await next.mend('wrong-grade')
    expect([servedByNext(), failed()]).toEqual([0, []])

    // 3. Clients come, step by step.
    write(group + steps)
    await expect.poll(async () => (await shift())?.share, wait).toBe(0.25)
    await expect.poll(servedByNext, wait).toBeGreaterThan(50)
    expect(failed()).toEqual([])

    // 4. It goes wrong, and is taken back.
    await next.plant('errors')
    await gateway.line(({ msg }) => msg === 'shift taken back')
    await expect.poll(shift, wait).toMatchObject({ share: 0, stopped: true })
    await load.more(30)
    const failedThen = failed()
    expect(failedThen.length).toBeGreaterThan(0)
    expect(failedThen.filter(({ release }) => release !== 'next')).toEqual([])
    expect(await run(look)).toMatch(/taken back/)
    expect(await causes()).toMatch(/taken back/)
    await load.more(200)
    expect(failed()).toHaveLength(failedThen.length)

    // 5. It is mended, and goes on.
    await next.mend('errors')
    const before = servedByNext()
    await run(resume)
    await expect.poll(async () => (await shift())?.share, wait).toBe(1)
    await load.more(100)
    expect(servedByNext() - before).toBeGreaterThan(50)

    // 6. It is promoted.
    expect(await run(promote)).toMatch(/endpoints +http.* → http/)
    const promoted = readFileSync(checkout.file, 'utf8')
    expect([next, old].map(({ origin }) => promoted.includes(origin))).toEqual([true, false])
    await expect.poll(shift, wait).toBe(null)
    const oldRequests = (await old.requests()).length
    await load.more(200)
    await load.stop()

    expect((await old.requests()).length).toBe(oldRequests)
    expect(failed()).toHaveLength(failedThen.length)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
  })
})
