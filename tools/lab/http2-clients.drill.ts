/**
 * Clients of HTTP/2, each of another make, in six cases; and what Java's client, which takes GOAWAY for an error, has
 * under way when a connection is to end. `HTTP2_CODEC=node` has them ask Node's codec.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { chromiumProgram, useChromium } from '../../test/helpers/chromium.ts'
import { configText, type Settings } from '../../test/helpers/gateway.ts'
import { listenHttp2, missing } from '../../test/helpers/http2.ts'
import { bootLiveGateway, fetchAdmin } from '../../test/helpers/live-gateway.ts'
import { serve, waitForListening } from '../../test/helpers/serve-process.ts'
import { slowLink } from '../../test/helpers/slow-link.ts'
import { httpUpstream } from '../../test/helpers/upstream.ts'
import { eventually, pseudoRandomBytes, sha256 } from '../../test/helpers/wire.ts'
import { got, http2Clients, type Task } from './http2-clients/clients.ts'

const folder = mkdtempSync(join(tmpdir(), 'clients-'))
afterAll(() => rmSync(folder, { recursive: true }))
const bodyFile = (name: string, body: Buffer) => {
  const file = join(folder, name)
  writeFileSync(file, body)
  return { file, sha256: sha256(body) }
}
const small = bodyFile('small', Buffer.from('{}'))
const upload = bodyFile('upload', pseudoRandomBytes(3 * 1024 * 1024))
const large = pseudoRandomBytes(1024 * 1024)

/** Renders an upstream's response to a POST: its name, what it received, and the version that the client spoke. */
const echo = (name: string, sha256: string, via = '2.0'): string => JSON.stringify({ name, sha256, via })

/** Opens an upstream that tells clients by the query, and holds what it is asked while `hold` says so. */
const openUpstream = async (name: string) => {
  const held: { readonly client: string; readonly respond: () => void }[] = []
  const served = new Set<string>()
  let holds = false
  const { url } = await httpUpstream(({ method, url, sha256, rawHeaders }, response) => {
    const client = url.split('?')[1] ?? ''
    const via = rawHeaders[rawHeaders.indexOf('Via') + 1]?.split(' ')[0]
    const respond = (): void => {
      served.add(client)
      response.end(method === 'GET' ? large : echo(name, sha256, via))
    }
    if (holds) held.push({ client, respond })
    else respond()
  })
  return {
    url,
    /** Lists the clients that got a response. */
    served: () => [...served].sort(),
    hold: () => {
      holds = true
    },
    /** Waits until `count` requests of each client are held; of one that is no longer `running` none is waited for. */
    holding: (count: number, running: ReadonlySet<string>) =>
      eventually(() => [...running].every((name) => held.filter(({ client }) => client === name).length >= count)),
    release: () => {
      holds = false
      for (const { respond } of held.splice(0)) respond()
    },
  }
}

const settings = (upstream: string, listen: object = {}): Settings => ({
  upstream,
  listen: { ...listenHttp2(), ...listen },
  shutdown: { wait: '0s', deadline: '60s' },
})

/** What clients are asked, where it differs from a small POST. */
type Case = Partial<Task> & { readonly to?: number; readonly path?: string }

describe.skipIf(missing !== null)('over HTTP/2', { timeout: 300_000 }, () => {
  const openPage = chromiumProgram.missing === null ? useChromium() : () => Promise.reject(new Error('no Chromium'))
  const clients = http2Clients(openPage).filter(({ programs }) => programs.every(({ missing }) => missing === null))
  const names = clients.map(({ name }) => name)

  test('clients of twelve makes get what they ask for', async () => {
    const [one, two] = [await openUpstream('one'), await openUpstream('two')]
    const config = join(folder, 'gateway.yaml')
    writeFileSync(config, configText(settings(one.url)))
    const gateway = serve(config)
    const port = await waitForListening(gateway)
    const admin = await gateway.line(({ msg }) => msg === 'admin listening')
    const link = await slowLink({ to: port, delayMs: 20, bytesPerSecond: 1_000_000 })
    onTestFinished(link.close)
    const started = await Promise.all(
      clients.map(async ({ name, start }) => ({ name, ask: await start(onTestFinished) })),
    )
    const wrong: Record<string, string> = {}

    /** Makes all clients ask at once, and notes what is not right. `meanwhile` learns which have not got everything. */
    const all = async (
      title: string,
      { to = port, path = '/valuation/score', ...asked }: Case,
      isRight: (outcome: string) => boolean,
      meanwhile: (running: ReadonlySet<string>) => Promise<unknown> = async () => {},
    ): Promise<void> => {
      const task = { method: 'POST', count: 1, atOnce: 5, file: small.file, ...asked } as const
      const running = new Set(names)
      const ended = started.map(async ({ name, ask }) => {
        const late = pause(90_000, ['nothing within 90 s'], { ref: false })
        const outcomes = await Promise.race([ask({ ...task, url: `https://127.0.0.1:${to}${path}?${name}` }), late])
        running.delete(name)
        if (outcomes.length !== task.count || !outcomes.every(isRight)) wrong[`${name}: ${title}`] = outcomes.join(', ')
      })
      await meanwhile(running)
      await Promise.all(ended)
    }

    await all('a small POST', {}, got(echo('one', small.sha256)))
    await all('an upload of 3 MiB', { file: upload.file }, got(echo('one', upload.sha256)))
    const early: Case = { to: link.port, path: '/unknown', file: upload.file }
    await all('404 before an upload has ended', early, (outcome) => outcome.startsWith('404 '))
    const slow: Case = { to: link.port, path: '/market/insights', method: 'GET', file: null }
    await all('1 MiB on a slow line', slow, got(large))
    one.hold()
    const either = got(echo('one', small.sha256), echo('two', small.sha256))
    await all('an edit of the upstream', { count: 10 }, either, async (running) => {
      await one.holding(5, running)
      writeFileSync(config, configText(settings(two.url)))
      await fetchAdmin(`http://127.0.0.1:${admin.port}/reload`, 'POST')
      one.release()
    })
    const rerouted = two.served()
    two.hold()
    await all('SIGTERM', { count: 5 }, got(echo('two', small.sha256)), async (running) => {
      await two.holding(5, running)
      gateway.signal('SIGTERM')
      await gateway.line(({ msg }) => msg === 'stopping')
      two.release()
    })

    expect(wrong).toEqual({})
    // nghttp begins all ten before the edit.
    expect(rerouted).toEqual(names.filter((name) => name !== 'nghttp').sort())
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
  })

  const java = clients.filter(({ name }) => name === 'Java')
  test.each(java)('$name gets what is under way when GOAWAY is due', async ({ start }) => {
    const ask = await start(onTestFinished)
    const upstream = await openUpstream('one')
    const outcomes: string[] = []
    for (const maxRequestsPerConnection of [1000, 2]) {
      const live = await bootLiveGateway(settings(upstream.url, { maxRequestsPerConnection }))
      const url = `https://127.0.0.1:${live.gateway.address.port}/valuation/score?Java`
      const task = { method: 'POST', url, file: small.file } as const
      // The others share its connection.
      outcomes.push(...(await ask({ ...task, count: 1, atOnce: 1 })))
      upstream.hold()
      const responded = ask({ ...task, count: 49, atOnce: 49 })
      await upstream.holding(49, new Set(['Java']))
      live.edit(settings(upstream.url, { maxRequestsPerConnection, maxHeaderFields: 500 }))
      await fetchAdmin(`${live.admin}/reload`, 'POST')
      upstream.release()
      outcomes.push(...(await responded))
    }

    expect(outcomes.filter(got(echo('one', small.sha256)))).toHaveLength(100)
  })
})
