import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'
import { drill, part, test, testAndDrill } from '../../../helpers/speed.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { folderWith } from '../../config/helper.ts'

const configFile = (settings: Settings): string => {
  const file = join(folderWith({ 'gateway.yaml': configText(settings) }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  return file
}

const marketInsights = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

/** Opens an upstream that responds only when the test lets it. */
const heldUpstream = async () => {
  const received = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => {
    received.resolve()
    released.promise.then(() => response.end('late'))
  })
  return { url: upstream.url, received: received.promise, release: released.resolve }
}

test('start-up prints the nine with their upstreams, and how to reroute one', async () => {
  const file = configFile({
    upstreams: {
      market: { endpoints: ['http://market-a:8080/v2', { url: 'https://market-b', weight: 10 }] },
      risk: 'http://risk.internal:8080',
    },
    listen: { basePath: '/lender' },
    operations: { 'inventory.sync': { state: 'refuse' } },
  })
  const served = serve(file)

  const last = await served.line(({ msg }) => msg.includes('reroute'))

  const upstreams: Readonly<Record<string, string>> = {
    'risk.asset-valuation': 'http://risk.internal:8080',
    'market.insights': 'http://market-a:8080/v2, https://market-b',
    'inventory.sync': 'refused by configuration',
  }
  expect(served.lines.filter(({ msg }) => msg === 'serving')).toMatchObject(
    allOperations.map(({ id, method, path }) => ({
      operation: id,
      method,
      path: `/lender${path}`,
      upstream: upstreams[id] ?? 'sandbox (embedded)',
    })),
  )
  expect(last.msg).toBe(`to reroute a group, edit its line under "upstreams" in ${file} and save it`)
})

// Of a name, the error of the system has the address alone.
testAndDrill.each(
  part([
    ['admin', 'localhost'],
    ['listen', '127.0.0.1'],
  ] as const),
)('a port of %s in use at %s is one clear line and exit code 1', async (key, host) => {
  const blocker = createServer()
  const port = await new Promise<number>((resolve) => {
    blocker.listen(0, host, () => {
      const address = blocker.address()
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
    })
  })
  onTestFinished(() => void blocker.close())

  const served = serve(configFile({ [key]: { host, port } }))

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toBe(
    `lender-gateway: cannot listen on ${host}:${port}: another process does; stop it, or change ${key}.port\n`,
  )
  expect(served.lines).toEqual([])
})

drill('an address that this machine does not have is one clear line and exit code 1', async () => {
  // RFC 5737: for documentation, so no machine has it.
  const served = serve(configFile({ upstream: 'http://upstream', listen: { host: '192.0.2.1' } }))

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toBe(
    'lender-gateway: cannot listen on 192.0.2.1:0: this machine has no such address; change listen.host\n',
  )
})

test('the sandbox behind an address that is not loopback stops start-up', async () => {
  const file = configFile({ listen: { host: '0.0.0.0' } })
  const served = serve(file)

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toMatch(/listen\.host: the sandbox would stand behind an address that other machines reach\n/)
  expect(served.errors()).toContain('or set allowSandbox: true')
  expect(served.lines).toEqual([])
})

test('however many problems stop start-up, all of them are printed', async () => {
  const unknown = Array.from({ length: 1000 }, (_, n) => `${'k'.repeat(50)}${n}: 1\n`).join('')
  const folder = join(folderWith({}), 'd'.repeat(200), 'd'.repeat(200)) // each problem names it
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, unknown)

  const served = serve(file)

  expect(await served.ended).toEqual({ code: 1, signal: null })
  expect(served.errors()).toMatch(/\n1\d{3} problems\n$/)
})

drill('unless allowSandbox permits it', async () => {
  const served = serve(configFile({ listen: { host: '0.0.0.0' }, allowSandbox: true }))

  const response = await fetch(`http://127.0.0.1:${await waitForListening(served)}/market/insights`)

  expect(response.status).toBe(200)
  expect(response.headers.get('x-sandbox')).toBe('1')
  expect(served.lines).toContainEqual(expect.objectContaining({ msg: 'listening', scheme: 'http', http2: false }))
  expect(served.lines).toContainEqual(
    expect.objectContaining({ level: 40, path: 'allowSandbox', message: expect.stringContaining('SANDBOX') }),
  )
})

testAndDrill.each(part(['SIGTERM', 'SIGINT'] as const))(
  '%s finishes the running exchange, accepts no other, and ends with 0',
  async (signal) => {
    const upstream = await heldUpstream()
    const served = serve(configFile({ upstream: upstream.url, shutdown: { wait: '0ms' } }))
    const port = await waitForListening(served)
    const client = await rawClient(port)
    client.send(marketInsights)
    await upstream.received

    served.signal(signal)
    await served.line(({ msg }) => msg === 'stopping')
    const refused = await rawClient(port).catch((error: NodeJS.ErrnoException) => error.code)
    upstream.release()
    const { received, how } = await client.ended()

    expect(refused).toBe('ECONNREFUSED')
    expect(parseStatus(received)).toBe(200)
    expect(received).toMatch(/\r\nConnection: close\r\n/i)
    expect(received).toMatch(/late/)
    expect(how).toBe('end')
    expect(await served.ended).toEqual({ code: 0, signal: null })
    expect(served.lines.slice(-2)).toMatchObject([
      { msg: 'exchange', operation: 'market.insights', status: 200 },
      { msg: 'stopped' },
    ])
  },
)

test('an idle connection does not keep the process from ending', async () => {
  const served = serve(configFile({ shutdown: { wait: '0ms' } }))
  const client = await rawClient(await waitForListening(served))
  client.send(marketInsights)
  await client.until((text) => text.endsWith('}'))

  served.signal('SIGTERM')

  expect(await served.ended).toEqual({ code: 0, signal: null })
  expect((await client.ended()).how).toBe('end')
})

// Node gives up the connection at CONNECT: its own list no longer has it.
testAndDrill.each(
  part([
    ['', ''],
    [' with CONNECT behind it', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
  ]),
)('an exchange%s that outlasts shutdown.deadline is cut', async (_, behind) => {
  const upstream = await heldUpstream()
  const served = serve(configFile({ upstream: upstream.url, shutdown: { wait: '0ms', deadline: '250ms' } }))
  const client = await rawClient(await waitForListening(served))
  client.send(marketInsights + behind)
  await upstream.received

  served.signal('SIGTERM')

  expect(await served.ended).toEqual({ code: 0, signal: null })
  expect((await client.ended()).received).toBe('')
})

drill('another signal ends the process at once, with 1', async () => {
  const upstream = await heldUpstream()
  const served = serve(configFile({ upstream: upstream.url }))
  const client = await rawClient(await waitForListening(served))
  client.send(marketInsights)
  await upstream.received
  served.signal('SIGTERM')
  await served.line(({ msg }) => msg === 'stopping')

  served.signal('SIGINT')

  expect(await served.ended).toEqual({ code: 1, signal: null })
})
