/** How the process starts, drains and ends, with the real command. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { configText, type Settings } from '../../helpers/gateway.ts'
import { exchangeRaw, rawClient } from '../../helpers/raw-client.ts'
import { type ServeProcess, serve, waitForListening } from '../../helpers/serve-process.ts'
import { drill, part, test, testAndDrill } from '../../helpers/speed.ts'
import { httpUpstream, rawUpstream } from '../../helpers/upstream.ts'

/** Writes a new file. */
const writeFile = (settings: Settings): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lifecycle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configText(settings))
  return file
}

/** Starts the command on a new file, and waits until it listens. */
const start = async (settings: Settings, env: Readonly<Record<string, string>> = {}) => {
  const file = writeFile(settings)
  const served = serve(file, env)
  const port = await waitForListening(served)
  return { served, port, file, admin: await adminPort(served) }
}

const adminPort = async (served: ServeProcess): Promise<number> => {
  const { port } = await served.line(({ msg }) => msg === 'admin listening')
  return Number(port)
}

const ask = (port: number, path: string, agent?: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response))
    }).on('error', reject)
  })

test('a signal that comes while it starts ends it at once, and the exit code is 0', async () => {
  const asked = Promise.withResolvers<void>()
  const silent = await rawUpstream((socket) => void socket.once('data', () => asked.resolve()))
  const idempotency = { redis: { url: `redis://127.0.0.1:${silent.port}` }, encryptionKeys: ['0'.repeat(64)] }
  const served = serve(writeFile({ idempotency, operations: { 'financing.pre-approval': { idempotency: true } } }))
  await asked.promise

  served.signal('SIGTERM')

  expect(await served.ended).toEqual({ code: 0, signal: null })
})

describe('after SIGTERM', () => {
  test('it is not ready, and for shutdown.wait still accepts and serves, closing each connection after its response', async () => {
    const { served, port, admin } = await start({ shutdown: { wait: '4s' } })
    const agent = new Agent({ keepAlive: true })
    const before = [
      (await ask(admin, '/ready')).statusCode,
      (await ask(port, '/market/insights', agent)).headers.connection,
    ]

    served.signal('SIGTERM')
    await served.line(({ msg }) => msg === 'stopping')
    const ready = await ask(admin, '/ready')
    const live = await ask(admin, '/live')
    const old = await ask(port, '/market/insights', agent)
    const fresh = await ask(port, '/market/insights')

    expect(before).toEqual([200, 'keep-alive'])
    expect([ready.statusCode, live.statusCode, old.statusCode, fresh.statusCode]).toEqual([503, 200, 200, 200])
    expect([old.headers.connection, fresh.headers.connection]).toEqual(['close', 'close'])
    expect(await served.ended).toEqual({ code: 0, signal: null })
    await expect(ask(port, '/market/insights')).rejects.toThrow('ECONNREFUSED')
  })

  drill('running requests are finished, and the exit code is 0', async () => {
    const release = Promise.withResolvers<void>()
    const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
    const { served, port } = await start({ upstream: upstream.url, shutdown: { wait: '0s' } })
    const running = exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
    await expect.poll(() => upstream.begun()).toBe(1)

    served.signal('SIGTERM')
    await served.line(({ msg }) => msg === 'stopping')
    release.resolve()

    expect(await running).toMatch(/^HTTP\/1.1 200 .*late$/s)
    expect((await served.ended).code).toBe(0)
  })

  test('the last line of its log says that it stopped, and after how long', async () => {
    const { served } = await start({ shutdown: { wait: '100ms' } })

    served.signal('SIGTERM')
    const { level, afterMs } = await served.line(({ msg }) => msg === 'stopped')
    await served.ended

    expect(level).toBe(30)
    expect(afterMs).toBeGreaterThanOrEqual(100)
    expect(served.lines.at(-1)?.msg).toBe('stopped')
  })

  drill('requests that still run at shutdown.deadline are cut, and the exit code is 0 all the same', async () => {
    const upstream = await httpUpstream(() => {})
    const { served, port } = await start({ upstream: upstream.url, shutdown: { wait: '100ms', deadline: '300ms' } })
    const client = await rawClient(port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
    await expect.poll(() => upstream.begun()).toBe(1)

    served.signal('SIGTERM')

    expect((await client.ended()).received).toBe('')
    expect((await served.ended).code).toBe(0)
  })

  drill('a connection without a request yet does not delay it', async () => {
    const { served, port } = await start({ shutdown: { wait: '0s', deadline: '25s' } })
    const client = await rawClient(port)
    // This one is accepted later, so the first one is accepted as well.
    await exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')

    const since = performance.now()
    served.signal('SIGTERM')
    await client.ended()

    expect((await served.ended).code).toBe(0)
    expect(performance.now() - since).toBeLessThan(15_000)
  })

  // npm passes signals on, and a terminal signals the whole process group: one press of Ctrl-C comes twice.
  test('the same signal once more within a second changes nothing', async () => {
    const release = Promise.withResolvers<void>()
    const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
    const { served, port } = await start({ upstream: upstream.url, shutdown: { wait: '0s' } })
    const running = exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
    await expect.poll(() => upstream.begun()).toBe(1)

    served.signal('SIGINT')
    await served.line(({ msg }) => msg === 'stopping')
    served.signal('SIGINT')
    await served.line(({ again }) => again === true)
    release.resolve()

    expect(await running).toMatch(/^HTTP\/1.1 200 .*late$/s)
    expect((await served.ended).code).toBe(0)
  })

  drill('the same signal a second later ends it at once', async () => {
    const { served } = await start({ shutdown: { wait: '20s' } })

    const again = setInterval(() => served.signal('SIGTERM'), 100)
    const { code } = await served.ended
    clearInterval(again)

    expect(code).toBe(1)
  })

  test('another signal ends it at once', async () => {
    const { served } = await start({ shutdown: { wait: '20s' } })

    served.signal('SIGTERM')
    await served.line(({ msg }) => msg === 'stopping')
    served.signal('SIGINT')

    expect((await served.ended).code).toBe(1)
  })
})

test('SIGHUP reloads the file', async () => {
  const upstream = await httpUpstream((_, response) => void response.end('rerouted'))
  const reload = { watch: false }
  const { served, port, file } = await start({ reload })

  writeFileSync(file, configText({ reload, upstream: upstream.url }))
  served.signal('SIGHUP')
  await served.line(({ msg, trigger }) => msg === 'configuration applied' && trigger === 'signal')

  expect(await exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')).toMatch(/rerouted$/)
})

test('SIGUSR1 opens no inspector with the flags of npm start', async () => {
  const { served, port } = await start({})

  served.signal('SIGUSR1')
  await exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
  served.signal('SIGUSR1')
  await exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')

  expect(served.errors()).not.toMatch(/Debugger/i)
})

testAndDrill.each(
  part([
    ['an uncaught error', 'throw new Error("planted")'],
    ['an unhandled rejection', 'Promise.reject(new Error("planted"))'],
  ]),
)('%s is logged with its stack, and ends the process with 1', async (_, code) => {
  const { served } = await start({}, importing(`process.on("SIGUSR2", () => { ${code} })`))

  served.signal('SIGUSR2')

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.lines.at(-1)).toMatchObject({ level: 60, msg: 'uncaught error', err: { message: 'planted' } })
  expect(served.lines.at(-1)).toHaveProperty('err.stack', expect.stringContaining('planted'))
})

/** Makes a pipe that has no other end: a thread that opens it hangs. */
const makePipe = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lifecycle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

/** Makes an environment in which each thread of a process runs a script first. */
const importing = (script: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
})

testAndDrill.each(
  part([
    ['SIGTERM', '0s', 'process.kill(process.pid, "SIGTERM")', 0],
    ['a second signal', '20s', 'process.kill(process.pid, "SIGTERM"); process.kill(process.pid, "SIGINT")', 1],
    ['an uncaught error', '20s', 'throw new Error("planted")', 1],
  ]),
)('a disk that hangs does not keep the process: %s', async (_, wait, then, code) => {
  const hang = `open(${JSON.stringify(makePipe())}, "r", () => {})`
  const env = importing(`import { open } from "node:fs"; process.on("SIGUSR2", () => { ${hang}; ${then} })`)
  const { served } = await start({ shutdown: { wait } }, env)

  served.signal('SIGUSR2')

  expect(await served.ended).toEqual({ code, signal: null })
})

test('a disk that hangs under the thread that reads the file does not keep the process', async () => {
  const pipe = makePipe()
  const [hangs, hung] = [`${pipe}.hangs`, `${pipe}.hung`]
  const { served } = await start(
    { shutdown: { wait: '0s' } },
    importing(`
      import fs from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      import { isMainThread } from 'node:worker_threads'
      const open = fs.openSync
      const openPipe = () => {
        fs.mkdirSync(${JSON.stringify(hung)})
        return open(${JSON.stringify(pipe)}, 'r')
      }
      if (!isMainThread) fs.openSync = (...file) => (fs.existsSync(${JSON.stringify(hangs)}) ? openPipe() : open(...file))
      syncBuiltinESMExports()`),
  )

  mkdirSync(hangs)
  served.signal('SIGHUP')
  await vi.waitFor(() => expect(existsSync(hung)).toBe(true), 10_000)
  served.signal('SIGTERM')

  expect(await served.ended).toEqual({ code: 0, signal: null })
})

test('a disk that hangs does not keep a process that cannot start', async () => {
  const hang = `open(${JSON.stringify(makePipe())}, 'r', () => {})`
  const env = importing(`
    import { open } from 'node:fs'
    import { isMainThread } from 'node:worker_threads'
    if (isMainThread) ${hang}`)
  const served = serve(writeFile({ admin: { port: -1 } }), env)

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toContain('admin.port')
})
