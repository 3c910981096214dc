/**
 * The wall clock of a running gateway is set: two hours back, two hours ahead, and right again, as an operator or NTP
 * does. A duration stays as long as it is. libfaketime sets the clock of the process, and leaves the monotonic one
 * alone, as a step does.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sleep } from '../../../src/core/lib/clock.ts'
import { adminTokens, bearerOf } from '../../helpers/admin-tokens.ts'
import { makeDpopClient } from '../../helpers/dpop.ts'
import { configText, type Settings } from '../../helpers/gateway.ts'
import { debianFile, requireFound } from '../../helpers/program.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { boundTargetUrl, tokenBindingSettings } from '../../helpers/token-binding.ts'
import { claims, signingKey, signToken } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const library = requireFound(await debianFile('/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1', 'libfaketime'))

const hourMs = 3_600_000

/** Starts the command, and returns how its clock is set: how far it is from the right time. */
const start = async (settings: Settings) => {
  const folder = mkdtempSync(join(tmpdir(), 'clock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, stamp] = [join(folder, 'gateway.yaml'), join(folder, 'clock')]
  writeFileSync(file, configText(settings))
  const setClock = (offsetMs: number): void => writeFileSync(stamp, `${offsetMs < 0 ? '' : '+'}${offsetMs / 1000}s\n`)
  setClock(0)
  const served = serve(file, {
    LD_PRELOAD: library.path ?? '',
    FAKETIME_TIMESTAMP_FILE: stamp,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
  const port = await waitForListening(served)
  const { port: adminPort } = await served.line(({ msg }) => msg === 'admin listening')
  return {
    setClock,
    admin: `http://127.0.0.1:${adminPort}`,
    get: (fields: Readonly<Record<string, string>> = {}) =>
      fetch(`http://127.0.0.1:${port}/market/insights`, { headers: fields }),
  }
}

/** The settings of the clock, one after the other. */
const steps = [-2 * hourMs, 2 * hourMs, 0]

describe.skipIf(library.missing !== null)('of one process', () => {
  test('a token that was revoked is good for no longer than `introspection.cache`', async () => {
    const good = new Set<string | null>()
    const server = await httpUpstream((request, response) => {
      const active = good.has(new URLSearchParams(request.body.toString()).get('token'))
      response.end(JSON.stringify(active ? { active, client_id: 'bank-a' } : { active }))
    })
    const { get, setClock } = await start({
      auth: {
        methods: ['introspection'],
        introspection: { url: server.url, clientId: 'a', clientSecret: 'the secret of the gateway', cache: '1s' },
      },
      clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
    })

    for (const step of steps) {
      const token = `token ${step}`.replaceAll(' ', '.')
      const status = async (): Promise<number> => (await get({ authorization: `Bearer ${token}` })).status
      good.add(token)
      expect(await status()).toBe(200)
      setClock(step)
      good.delete(token)
      await sleep(1100)

      expect([step, await status()]).toEqual([step, 401])
    }
  })

  test('a stored response is as old and as fresh as it is', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.sendDate = false // its clock is not the subject
      response.writeHead(200, { 'Cache-Control': 'max-age=2' }).end('insights')
    })
    const { get, setClock } = await start({
      upstream: upstream.url,
      operations: { 'market.insights': { cache: true } },
    })
    const said = async () => {
      const { headers } = await get()
      const [, ttl] = /ttl=(-?\d+)/.exec(headers.get('cache-status') ?? '') ?? []
      return { isHit: headers.get('cache-status')?.includes('hit'), ttl: Number(ttl), age: Number(headers.get('age')) }
    }

    for (const step of steps) {
      expect(await said()).toMatchObject({ isHit: false })
      setClock(step)
      const { isHit, ttl, age } = await said()
      await sleep(2100)

      expect([step, isHit, age <= 2, ttl <= 2 && ttl >= 0]).toEqual([step, true, true, true])
    }
    expect(await said()).toMatchObject({ isHit: false })
    expect(upstream.requests).toHaveLength(steps.length + 1)
  })
})

describe.skipIf(library.missing !== null)('of two workers and their primary', () => {
  test('an operation that is rejected for 5 s says so, and is back after 5 s', async () => {
    const { get, admin, setClock } = await start({ workers: 2, admin: { tokens: adminTokens } })
    const { ok } = await fetch(`${admin}/operations/reject`, {
      method: 'POST',
      headers: bearerOf('operate'),
      body: JSON.stringify({ operation: 'market.insights', ttl: '5s' }),
    })
    const wait = async (): Promise<number> => Number((await get()).headers.get('retry-after'))

    const waits: number[] = []
    const ends: number[] = []
    for (const step of steps) {
      setClock(step)
      waits.push(await wait())
      const response = await fetch(`${admin}/status`, { headers: bearerOf('read') })
      const { operations } = (await response.json()) as { operations: Record<string, { until: string }> }
      ends.push(Math.round((Date.parse(operations['market.insights']?.until ?? '') - Date.now() - step) / 5000))
    }
    await sleep(5100)

    expect(ok).toBe(true)
    expect(waits.every((seconds) => seconds >= 1 && seconds <= 5)).toBe(true)
    expect(ends.every((fifths) => fifths === 0 || fifths === 1)).toBe(true)
    expect((await get()).status).toBe(200)
  })

  test('a proof that was used is never good again, and a new one is', async () => {
    const key = signingKey('ES256', 'key')
    const client = await makeDpopClient()
    const settings = tokenBindingSettings(key, { dpop: { maxAge: '5s', clockTolerance: '0s' } })
    const upstream = await httpUpstream()
    const { get, setClock } = await start({ workers: 2, upstream: upstream.url, ...settings })
    const hour = hourMs / 1000
    const times = { iat: Math.floor(Date.now() / 1000) - 10 * hour, exp: Math.floor(Date.now() / 1000) + 10 * hour }
    const token = signToken(key, claims({ cnf: { jkt: client.jkt }, ...times }))
    const prove = (offsetMs = 0): Promise<string> =>
      client.prove({ token, htu: boundTargetUrl, claims: { iat: Math.floor((Date.now() + offsetMs) / 1000) } })
    const send = async (proof: string): Promise<number> =>
      (await get({ authorization: `DPoP ${token}`, DPoP: proof })).status

    const usedAt = Date.now()
    const used = await prove()
    expect(await send(used)).toBe(200)
    // The longest that a proof is remembered: three times maxAge and a second.
    await sleep(18_100)
    expect(await send(await prove())).toBe(200)
    setClock(usedAt - Date.now())
    expect(await send(used)).toBe(503) // nobody can tell whether it has come before
    for (const step of steps) {
      setClock(step)
      expect([step, await send(used)]).toEqual([step, 401])
      expect([step, await send(await prove(step))]).toEqual([step, 200])
    }
  })
})
