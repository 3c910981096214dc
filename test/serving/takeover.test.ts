/** New code takes over from a gateway that runs, with the real command. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { configText, type LogLine, type Settings } from '../helpers/gateway.ts'
import { askAdmin } from '../helpers/live-gateway.ts'
import { rawClient } from '../helpers/raw.ts'
import { serve } from '../helpers/serve.ts'
import { openServer, steadyLoad } from '../helpers/steady-load.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { inPlace } from '../helpers/ways.ts'

/** Starts the command, with as little to wait for as may be. */
const start = async (settings: Settings) => {
  const way = inPlace(onTestFinished)
  const write = (next: Settings): void => way.write(configText({ shutdown: { wait: '0ms' }, ...settings, ...next }))
  write({})
  const served = serve(way.file)
  const port = Number((await served.line(({ msg }) => msg === 'listening')).port)
  const admin = Number((await served.line(({ msg }) => msg === 'admin listening')).port)
  return {
    served,
    port,
    admin,
    write,
    text: (text: string) => writeFileSync(way.file, text),
    pid: async () => Number((await askAdmin(`http://127.0.0.1:${admin}/status`)).body.pid),
    /** Has another process take over, and waits for the line that tells what came of it. */
    async takeOver(from: number | undefined): Promise<LogLine> {
      const before = served.lines.length
      process.kill(from ?? 0, 'SIGUSR2')
      return served.line((line) => served.lines.indexOf(line) >= before && /^take.* (what|this)/.test(line.msg))
    },
  }
}

/** Waits until a process that is nobody's child is gone. */
const gone = (pid: number): Promise<void> =>
  expect
    .poll(
      () => {
        try {
          process.kill(pid, 0)
          return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')) // nobody may ask for how it ended
        } catch (error) {
          return (error as NodeJS.ErrnoException).code === 'ENOENT'
        }
      },
      { timeout: 20_000 },
    )
    .toBe(false)

describe.each([1, 2])('workers: %i', { timeout: 60_000 }, (workers) => {
  test('takeovers, one after the other, cost no request', async () => {
    const { served, port, pid, takeOver } = await start({ workers, upstream: await openServer(0, onTestFinished) })
    const load = steadyLoad(port, onTestFinished, { fresh: 2, mayEnd: true })

    const first = await takeOver(served.pid)
    const [ended, second] = await Promise.all([served.exited, pid()])
    const next = await takeOver(second)
    await gone(second)
    const third = await pid()
    const { requests, failed } = await load.stop()

    expect(first).toMatchObject({ msg: 'taken over: finishing what runs', successor: second })
    expect(next).toMatchObject({ msg: 'taken over: finishing what runs', successor: third })
    expect(ended).toEqual({ code: 0, signal: null })
    expect(new Set([served.pid, second, third]).size).toBe(3)
    expect(failed).toEqual([])
    expect(requests).toBeGreaterThan(100)
    expect(served.errors()).toBe('')
  })

  test('a successor that cannot start costs no request either, and the old one serves on', async () => {
    const { served, port, pid, text, write, takeOver } = await start({
      workers,
      upstream: await openServer(0, onTestFinished),
    })
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    const load = steadyLoad(port, onTestFinished, { fresh: 2 })

    text('nonsense: true')
    const broken = await takeOver(served.pid)
    write({ admin: { port: Number((taken.address() as { readonly port: number }).port) } })
    const inUse = await takeOver(served.pid)
    const { failed } = await load.stop()

    const reason = 'it ended with 1 before it was ready'
    expect(broken).toMatchObject({ msg: 'takeover failed: this process serves on', level: 50, reason })
    expect(inUse).toMatchObject({ msg: 'takeover failed: this process serves on', level: 50, reason })
    expect(served.errors()).toMatch(/nonsense: unknown key/)
    expect(served.errors()).toMatch(/another process does; stop it, or change admin\.port\n$/)
    expect(failed).toEqual([])
    expect(await pid()).toBe(served.pid)
  })
})

test('the address that the file says by now is the one that is opened, and the old one is closed', async () => {
  const { served, port, write, takeOver } = await start({})
  const other = await freePort()

  write({ listen: { port: other } })
  await takeOver(served.pid)
  await served.exited
  const answer = await fetch(`http://127.0.0.1:${other}/market/insights`)

  expect(answer.status).toBe(200)
  await expect(rawClient(port)).rejects.toThrow('ECONNREFUSED')
})

test('what runs is finished by the old process, and what operators said holds in the new one', async () => {
  const release = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
  const { served, port, admin, takeOver } = await start({ upstream: upstream.url })
  const order = JSON.stringify({ operation: 'inventory.sync', ttl: '1h' })
  await askAdmin(`http://127.0.0.1:${admin}/operations/refuse`, 'POST', { body: order })
  const client = await rawClient(port)
  client.send('GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
  await expect.poll(() => upstream.begun()).toBe(1)

  const { successor } = await takeOver(served.pid)
  const { body: now } = await askAdmin(`http://127.0.0.1:${admin}/status`)
  release.resolve()
  const { received } = await client.ended()

  expect(now.pid).toBe(successor)
  expect(now.operations).toMatchObject({ 'inventory.sync': { state: 'refuse' } })
  expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*late$/is)
  expect(await served.exited).toEqual({ code: 0, signal: null })
})

test('what operators say while the successor is starting holds in it as well', async () => {
  const { served, port, admin } = await start({})
  const order = (operation: string, state: string) =>
    askAdmin(`http://127.0.0.1:${admin}/operations/${state}`, 'POST', { body: JSON.stringify({ operation }) })
  await order('leads.pipeline', 'refuse')

  served.signal('SIGUSR2')
  await served.line(({ msg }) => msg === 'takeover begun')
  await Promise.all([order('market.insights', 'refuse'), order('leads.pipeline', 'serve')])
  await served.exited
  const [refused, back] = await Promise.all(
    ['market/insights', 'leads/pipeline'].map((path) => fetch(`http://127.0.0.1:${port}/${path}`)),
  )

  expect([refused?.status, back?.status]).toEqual([503, 200])
})

test('meanwhile a second one is refused, and SIGTERM ends both', async () => {
  const { served, port } = await start({})

  served.signal('SIGUSR2')
  const { successor } = await served.line(({ msg }) => msg === 'takeover begun')
  served.signal('SIGUSR2')
  const refused = await served.line(({ msg }) => msg.startsWith('takeover refused'))
  served.signal('SIGTERM')

  expect(refused).toMatchObject({ level: 50, reason: 'one is under way' })
  expect(await served.ended).toEqual({ code: 0, signal: null })
  await gone(Number(successor))
  expect(served.lines.map(({ msg }) => msg)).not.toContain('takeover failed: this process serves on')
  await expect(rawClient(port)).rejects.toThrow('ECONNREFUSED')
})
