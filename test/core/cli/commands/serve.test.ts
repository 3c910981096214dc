/** How the process of `serve` starts, drains and ends, with the real command. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { bootGateway, configText, type Settings } from '../../../helpers/gateway.ts'
import { listen } from '../../../helpers/listen.ts'
import { exchangeRaw, rawClient } from '../../../helpers/raw-client.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'
import { drill, part, test, testAndDrill } from '../../../helpers/speed.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { bareGet } from '../../../helpers/wire.ts'
import { folderWith } from '../../config/helper.ts'
import { runCommand } from '../scripted-admin.ts'

const folder = (): string => {
  const made = folderWith({})
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const configFile = (settings: Settings): string => {
  const file = join(folder(), 'gateway.yaml')
  writeFileSync(file, configText(settings))
  return file
}

/** Starts the command on a new file, and waits until it listens. */
const start = async (settings: Settings, env: Readonly<Record<string, string>> = {}) => {
  const file = configFile(settings)
  const served = serve(file, env)
  const port = await waitForListening(served)
  return { served, port, file }
}

const getResponse = (port: number, path: string, agent?: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response))
    }).on('error', reject)
  })

/** An upstream that holds `?held` until the test releases it. */
const heldUpstream = async () => {
  const received = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const upstream = await httpUpstream(({ url }, response) => {
    if (!url.endsWith('?held')) return void response.end('rerouted')
    received.resolve()
    released.promise.then(() => response.end('late'))
  })
  return { url: upstream.url, received: received.promise, release: released.resolve }
}

/** Makes a pipe that has no other end: a thread that opens it hangs. */
const makePipe = (): string => {
  const pipe = join(folder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

/** Makes an environment in which each thread of a process runs a script first. */
const importing = (script: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
})

/** The disk hangs under the thread that reads the file, once `hang` was called; `hung` says whether it does. */
const hangingReader = () => {
  const pipe = makePipe()
  const [hangs, hung] = [`${pipe}.hangs`, `${pipe}.hung`]
  const env = importing(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    import { isMainThread } from 'node:worker_threads'
    const open = fs.openSync
    const openPipe = () => {
      fs.mkdirSync(${JSON.stringify(hung)})
      return open(${JSON.stringify(pipe)}, 'r')
    }
    if (!isMainThread) fs.openSync = (...file) => (fs.existsSync(${JSON.stringify(hangs)}) ? openPipe() : open(...file))
    syncBuiltinESMExports()`)
  return { env, hang: () => mkdirSync(hangs), hung: () => existsSync(hung) }
}

// npm and the terminal both signal the process: Ctrl-C comes twice.
test('it prints the nine, reloads at SIGHUP, opens no inspector, and after SIGINT, even twice within a second, serves on, finishes the running exchange and ends with 0, though a disk hangs', async () => {
  const upstream = await heldUpstream()
  const settings: Settings = {
    ...{ upstreams: { risk: 'http://risk.internal:8080' }, listen: { basePath: '/lender' } },
    ...{ operations: { 'inventory.sync': { state: 'reject' } }, reload: { watch: false }, shutdown: { wait: '2s' } },
  }
  const disk = hangingReader()
  const { served, port, file } = await start(settings, disk.env)
  const admin = Number((await served.line(({ msg }) => msg === 'admin listening')).port)
  const last = await served.line(({ msg }) => msg.includes('reroute'))

  const upstreams: Readonly<Record<string, string>> = {
    'risk.asset-valuation': 'http://risk.internal:8080',
    'inventory.sync': 'rejected by configuration',
  }
  expect(served.lines.filter(({ msg }) => msg === 'serving')).toMatchObject(
    allOperations.map(({ id, method, path }) => ({
      ...{ operation: id, method, path: `/lender${path}`, upstream: upstreams[id] ?? 'sandbox (embedded)' },
    })),
  )
  expect(last.msg).toBe(`to reroute a group, edit its line under "upstreams" in ${file} and save it`)

  served.signal('SIGUSR1')
  writeFileSync(file, configText({ ...settings, upstreams: { market: upstream.url } }))
  served.signal('SIGHUP')
  await served.line(({ msg, trigger }) => msg === 'configuration applied' && trigger === 'signal')
  served.signal('SIGUSR1')
  const path = '/lender/market/insights'
  expect(await exchangeRaw(port, bareGet(path))).toMatch(/rerouted$/)
  expect(served.errors()).not.toMatch(/Debugger/i)

  disk.hang()
  served.signal('SIGHUP')
  await expect.poll(disk.hung).toBe(true)
  const agent = new Agent({ keepAlive: true })
  const before = [
    (await getResponse(admin, '/ready')).statusCode,
    (await getResponse(port, path, agent)).headers.connection,
  ]
  const [idle, client] = [await rawClient(port), await rawClient(port)]
  client.send(bareGet(`${path}?held`))
  await upstream.received
  served.signal('SIGINT')
  await served.line(({ msg }) => msg === 'stopping')
  served.signal('SIGINT')
  await served.line(({ again }) => again === true)
  const after = await Promise.all([
    getResponse(admin, '/ready'),
    getResponse(admin, '/live'),
    getResponse(port, path, agent),
    getResponse(port, path),
  ])
  const dial = () =>
    rawClient(port)
      .then((more) => more.close())
      .catch(({ code }) => code)
  await expect.poll(dial).toBe('ECONNREFUSED')
  upstream.release()
  const { received, how } = await client.ended()

  expect(before).toEqual([200, 'keep-alive'])
  expect(after.map(({ statusCode }) => statusCode)).toEqual([503, 200, 200, 200])
  expect(after.slice(2).map(({ headers }) => headers.connection)).toEqual(['close', 'close'])
  expect(received).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n[\s\S]*late/i)
  expect([how, (await idle.ended()).how]).toEqual(['end', 'end'])
  expect(await served.ended).toEqual({ code: 0, signal: null })
  const [exchange, stopped] = served.lines.slice(-2)
  expect(exchange).toMatchObject({ msg: 'exchange', operation: 'market.insights', status: 200 })
  expect(stopped).toMatchObject({ level: 30, msg: 'stopped' })
  expect(stopped?.afterMs).toBeGreaterThanOrEqual(2000)
})

// Node gives up the connection at CONNECT: its own list no longer has it.
test.each([
  [' with CONNECT behind it', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
  ['', ''],
])('an exchange%s that outlasts shutdown.deadline is cut', async (_, behind) => {
  const upstream = await heldUpstream()
  const { gateway, port } = await bootGateway({ upstream: upstream.url, shutdown: { wait: '0ms', deadline: '250ms' } })
  const client = await rawClient(port)
  client.send(bareGet('/market/insights?held') + behind)
  await upstream.received

  await gateway.close()

  expect((await client.ended()).received).toBe('')
})

// serve-start.test.ts has the reasons and their words. Of a name, the error of the system has the address alone; no
// machine has the last one, which is for documentation (RFC 5737).
drill.each([
  ['listen', '127.0.0.1', 'another process listens there; stop it, or change listen.port'],
  ['admin', 'localhost', 'another process listens there; stop it, or change admin.port'],
  ['listen', '192.0.2.1', 'this machine has no such address; change listen.host'],
])('that %s cannot be on %s is one clear line and exit code 1', async (key, host, why) => {
  const port = await listen(createServer(), host === 'localhost' ? host : '127.0.0.1')

  expect(await runCommand(['serve', '--config', configFile({ [key]: { host, port }, allowSandbox: true })])).toEqual({
    ...{ code: 1, out: '', err: `lender-gateway: cannot listen on ${host}:${port}: ${why}\n` },
  })
})

drill('however many problems there are, all of them are printed, though a disk hangs', async () => {
  const unknown = Array.from({ length: 1000 }, (_, n) => `${'k'.repeat(50)}${n}: 1\n`).join('')
  const deep = join(folder(), 'd'.repeat(200), 'd'.repeat(200)) // each problem names it
  mkdirSync(deep, { recursive: true })
  const file = join(deep, 'gateway.yaml')
  writeFileSync(file, unknown)
  const hang = `open(${JSON.stringify(makePipe())}, 'r', () => {})`

  const served = serve(
    file,
    importing(`
      import { open } from 'node:fs'
      import { isMainThread } from 'node:worker_threads'
      if (isMainThread) ${hang}`),
  )

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toMatch(/\n1\d{3} problems\n$/)
  expect(served.lines).toEqual([])
})

drill(
  'allowSandbox lets other machines reach the sandbox, with a warning, and the same signal a second later ends it at once',
  async () => {
    const { served, port } = await start({
      ...{ listen: { host: '0.0.0.0' }, allowSandbox: true, shutdown: { wait: '20s' } },
    })

    const response = await fetch(`http://127.0.0.1:${port}/market/insights`)
    const again = setInterval(() => served.signal('SIGTERM'), 100)
    const { code } = await served.ended
    clearInterval(again)

    expect(code).toBe(1)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-sandbox')).toBe('1')
    expect(served.lines).toContainEqual(expect.objectContaining({ msg: 'listening', scheme: 'http', http2: false }))
    expect(served.lines).toContainEqual(
      expect.objectContaining({ level: 40, path: 'allowSandbox', message: expect.stringContaining('SANDBOX') }),
    )
  },
)

/** Opens the pipe at SIGUSR2, and then does something. */
const hanging = (then: string): Readonly<Record<string, string>> => {
  const hang = `open(${JSON.stringify(makePipe())}, "r", () => {})`
  return importing(`import { open } from "node:fs"; process.on("SIGUSR2", () => { ${hang}; ${then} })`)
}

testAndDrill.each(
  part([
    ['an uncaught error', 'throw new Error("planted")'],
    ['an unhandled rejection', 'Promise.reject(new Error("planted"))'],
  ]),
)('%s is logged with its stack, and ends the process with 1, even while a disk hangs', async (_, then) => {
  const { served } = await start({ shutdown: { wait: '20s' } }, hanging(then))

  served.signal('SIGUSR2')

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.lines.at(-1)).toMatchObject({ level: 60, msg: 'uncaught error', err: { message: 'planted' } })
  expect(served.lines.at(-1)).toHaveProperty('err.stack', expect.stringContaining('planted'))
})

drill.each([
  ['SIGTERM', '0s', 'process.kill(process.pid, "SIGTERM")', 0],
  ['a second signal', '20s', 'process.kill(process.pid, "SIGTERM"); process.kill(process.pid, "SIGINT")', 1],
])('a disk that hangs does not keep the process: %s', async (_, wait, then, code) => {
  const { served } = await start({ shutdown: { wait } }, hanging(then))

  served.signal('SIGUSR2')

  expect(await served.ended).toEqual({ code, signal: null })
})
