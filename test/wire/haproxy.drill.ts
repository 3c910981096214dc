/** Restarts gateways behind a real HAProxy, under load: no client notices. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sleep } from '../../src/core/lib/clock.ts'
import { allOperations } from '../../src/operations.ts'
import { folderWith } from '../core/config/helper.ts'
import { freePort } from '../helpers/free-port.ts'
import { configText } from '../helpers/gateway.ts'
import { type Haproxy, startHaproxy } from '../helpers/haproxy.ts'
import { needProgram } from '../helpers/program.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { type ServeProcess, serve, waitForListening } from '../helpers/serve-process.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { bareGet } from '../helpers/wire.ts'

const haproxy = await needProgram('haproxy')

/** A gateway that is restarted on the same ports. */
interface Instance {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly adminPort: number
  readonly file: string
  /** Says how long it is to wait from its next reload on. */
  write(wait: string): void
  /** Its processes, one after another. */
  readonly processes: ServeProcess[]
}

// Runs the documented configuration of HAProxy. The checks are ten times as frequent, so that a restart takes a few
// seconds.
const documented = /^```haproxy\n(backend .*?)^```/ms.exec(
  readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8'),
)?.[1]

const backend = ([a, b]: readonly [Instance, Instance]): string =>
  [
    ['inter 1s', 'inter 100ms'],
    ['10.0.0.11:8080 port 9901', `${a.host}:${a.port} port ${a.adminPort}`],
    ['10.0.0.12:8080 port 9901', `${b.host}:${b.port} port ${b.adminPort}`],
  ].reduce((lines, [from = '', to = '']) => {
    if (!lines.includes(from)) throw new Error(`docs/operations.md does not say ${from}`)
    return lines.replace(from, to)
  }, documented ?? '')

/** Opens an upstream that responds with the target and the body that it received. */
const openEcho = async (): Promise<string> => {
  const { url } = await httpUpstream(({ method, url, body }, response) => {
    response.write(`${method} ${url}\n`)
    response.end(body)
  })
  return url
}

/**
 * Writes the file of an instance. Each has a loopback address of its own: while it is down, no other process of the
 * suite is given its ports.
 */
const instance = async (name: string, host: string, upstream: string): Promise<Instance> => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const file = join(folderWith({}), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  const write = (wait: string): void =>
    writeFileSync(
      file,
      configText({
        ...{ upstream, listen: { host, port, via: name }, admin: { host, port: adminPort } },
        shutdown: { wait },
      }),
    )
  write('2s')
  return { name, host, port, adminPort, file, write, processes: [] }
}

const start = async ({ file, processes }: Instance): Promise<ServeProcess> => {
  const served = serve(file)
  processes.push(served)
  await waitForListening(served)
  return served
}

/** Starts two instances and HAProxy before them, and waits until it has found both ready. */
const startAll = async () => {
  const upstream = await openEcho()
  const instances = [await instance('a', '127.0.0.2', upstream), await instance('b', '127.0.0.3', upstream)] as const
  await Promise.all(instances.map(start))
  const balancer = await startHaproxy(haproxy.path ?? '', backend(instances))
  onTestFinished(() => balancer.stop())
  for (const { name } of instances) await isSeen(balancer, name, 'UP')
  return { instances, balancer }
}

/** Waits until HAProxy takes a server for up or down, and has a check to show for it. */
const isSeen = (balancer: Haproxy, name: string, state: 'UP' | 'DOWN'): Promise<void> =>
  expect
    .poll(
      async () => {
        const { status, check_status: check } = await balancer.row(name)
        return check === 'INI' ? check : status
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBe(state)

const isExchange = ({ msg }: { readonly msg: string }): boolean => msg === 'exchange'

/** Restarts an instance, and waits until it gets requests again. Returns how its process ended. */
const restart = async (old: Instance, balancer: Haproxy) => {
  const before = old.processes.at(-1)
  if (before === undefined) throw new Error(`${old.name} does not run`)
  before.signal('SIGTERM')
  await isSeen(balancer, old.name, 'DOWN')
  const ended = await before.ended
  const after = await start(old)
  await isSeen(balancer, old.name, 'UP')
  await after.line(isExchange)
  return ended
}

/**
 * The clients of a load, each of which sends one request after another: whether it keeps a connection alive, how long
 * it pauses between two requests at most (the pace of the load, for which nothing waits), and how long the body of a
 * POST takes. The slow ones often have a request under way when the wait is over, which is then finished. The pauses
 * leave connections of HAProxy's to the gateways idle, for the gateway to close and for HAProxy to use again.
 */
const clients: readonly (readonly [keepAlive: boolean, paceMs: number, bodyMs: number])[] = [
  ...Array(6).fill([true, 300, 0]),
  ...Array(3).fill([false, 300, 0]),
  ...Array(2).fill([true, 500, 0]),
  ...Array(4).fill([true, 200, 3000]),
]

const bodySizes = [1, 900, 20_000, 150_000]

/** Puts load on a port until it is stopped; notes by which instance each request got a response, or what was wrong. */
const load = (port: number) => {
  const by = new Map<string, number>()
  const failures: string[] = []
  let running = true
  let made = 0
  const exchange = async (agent: Agent, n: number, bodyMs: number): Promise<string | null> => {
    const { method, path: operation } = allOperations[n % allOperations.length] ?? allOperations[0]
    const path = `${operation}?n=${n}`
    const size = bodySizes[n % bodySizes.length] ?? 0
    const body = method === 'GET' ? '' : `${n}:`.padEnd(size, 'abcdefghijklmnopqrstuvwxyz'.slice(n % 26))
    const response = await send({ port, agent, method, path }, body, n % 2 === 0, bodyMs)
    const received = await text(response)
    if (response.statusCode !== 200) return `${path}: ${response.statusCode} ${received.slice(0, 200)}`
    if (received !== `${method} ${path}\n${body}`) return `${path}: ${received.length} bytes: ${received.slice(0, 200)}`
    by.set(response.headers.via ?? '', (by.get(response.headers.via ?? '') ?? 0) + 1)
    return null
  }
  const run = async ([keepAlive, paceMs, bodyMs]: (typeof clients)[number]): Promise<void> => {
    const agent = new Agent({ keepAlive, maxSockets: 1 })
    while (running) {
      const failure = await exchange(agent, made++, bodyMs).catch(String)
      if (failure !== null) failures.push(failure)
      await sleep(Math.random() * paceMs)
    }
    agent.destroy()
  }
  const over = Promise.all(clients.map(run))
  const stop = async (): Promise<void> => {
    running = false
    await over
  }
  return { by, failures, made: () => made, stop }
}

/** Sends a request, its body in two halves: with its length or in chunks. */
const send = (head: RequestOptions, body: string, chunked: boolean, bodyMs: number): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = body === '' || chunked ? {} : { 'Content-Length': body.length }
    const sent = request({ host: '127.0.0.1', ...head, headers }, resolve)
    sent.on('error', reject)
    if (body === '') return void sent.end()
    const half = Math.floor(body.length / 2)
    sent.write(body.slice(0, half))
    if (bodyMs === 0) sent.end(body.slice(half))
    else setTimeout(() => sent.end(body.slice(half)), bodyMs)
  })

const brokenRequests = ({ log }: Haproxy): string[] => log.filter((line) => line.startsWith('request '))

describe.skipIf(haproxy.missing)('behind HAProxy, which asks /ready and tries nothing twice', () => {
  // HAProxy stops using an instance when `fall` checks in a row have failed, so at worst `fall` × `inter` after
  // SIGTERM, and the time that a check takes: 200 ms here. `shutdown.wait` is ten times that, for a busy machine.
  test('two instances behind HAProxy are each restarted under load, and no request fails, except when one does not wait', {
    timeout: 480_000,
  }, async () => {
    const { instances, balancer } = await startAll()
    const { by, failures, made, stop } = load(balancer.port)

    const ends = []
    for (const each of instances) ends.push(await restart(each, balancer))
    await stop()
    const rows = await Promise.all(['a', 'b', 'BACKEND'].map(balancer.row))
    const processes = instances.flatMap((each) => each.processes)
    const exchanges = () => processes.flatMap((process) => process.lines.filter(isExchange))

    expect(failures).toEqual([])
    expect(brokenRequests(balancer)).toEqual([])
    // Each request reached one gateway, once, and both had their share.
    await expect.poll(exchanges).toHaveLength(made())
    expect(exchanges().filter(({ status, failure }) => status !== 200 || failure !== undefined)).toEqual([])
    expect([...by.keys()].sort()).toEqual(['1.1 a', '1.1 b'])
    expect(Math.min(...by.values())).toBeGreaterThan(made() / 5)
    // HAProxy counts the same, and it did keep and reuse connections.
    const [a, b, all] = rows
    expect(all).toMatchObject({
      hrsp_2xx: String(made()),
      ...{ hrsp_4xx: '0', hrsp_5xx: '0', econ: '0', eresp: '0', wretr: '0', wredis: '0', cli_abrt: '0', srv_abrt: '0' },
    })
    for (const row of [a, b]) {
      expect(Number(row?.chkdown)).toBeGreaterThanOrEqual(1)
      expect(Number(row?.reuse)).toBeGreaterThan(Number(row?.connect) / 2)
    }

    // Without the wait: an instance ends before HAProxy has noticed.
    const [hasty, other] = instances
    hasty.write('0s')
    hasty.processes.at(-1)?.signal('SIGHUP')
    await hasty.processes.at(-1)?.line(({ msg }) => msg === 'configuration applied')
    const again = load(balancer.port)
    await expect.poll(() => again.by.size).toBe(2)
    // Whether a request meets the end of an instance is chance: on a busy machine it takes a few.
    for (let nth = 0; nth < 10 && again.failures.length === 0; nth++) {
      const last = nth === 0 ? hasty.processes.at(-1) : await start(hasty)
      await isSeen(balancer, 'a', 'UP')
      last?.signal('SIGTERM')
      await isSeen(balancer, 'a', 'DOWN')
      ends.push(await last?.ended)
    }
    await again.stop()
    other.processes.at(-1)?.signal('SIGTERM')
    ends.push(await other.processes.at(-1)?.ended)

    expect(again.failures).not.toEqual([])
    // Whether HAProxy could not connect or got no response is chance.
    expect(brokenRequests(balancer)).toContainEqual(expect.stringMatching(/^request S[CH] \S+ a /))
    expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })))
    expect(processes.map(({ errors }) => errors()).join('')).toBe('')
  })
})

const compose = readFileSync(new URL('../../config/examples/compose/haproxy/haproxy.cfg', import.meta.url), 'utf8')

/** Opens a server that responds to every GET and is killed by every POST: its connection ends without a byte. */
const openMortal = () =>
  rawUpstream((socket) =>
    onRequest(socket, (head) => {
      if (head.startsWith('POST')) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )

describe.skipIf(haproxy.missing)('by the lines of the Compose example, a POST in flight', () => {
  const boot = async () => {
    const lines = (/^backend .*/ms.exec(compose)?.[0] ?? '')
      .replace(/^ +(option httpchk|http-check|timeout check|default-server).*\n/gm, '')
      .replace('gateway-a:8080 port 9901', `127.0.0.1:${(await openMortal()).port}`)
      .replace('gateway-b:8080 port 9901', `127.0.0.1:${(await openMortal()).port}`)
    const balancer = await startHaproxy(haproxy.path ?? '', lines)
    onTestFinished(() => balancer.stop())
    const client = await rawClient(balancer.port)
    onTestFinished(() => client.close())
    return client
  }
  const post = 'POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'

  test('a POST in flight that is the first request of its connection gets 502', async () => {
    const client = await boot()

    client.send(post)
    const received = await client.until(isWholeResponse)

    expect(parseStatus(String(received))).toBe(502)
  })

  test('a POST in flight that is a later request gets no byte: HAProxy closes the connection', async () => {
    const client = await boot()
    client.send(bareGet())
    await client.until((text) => text.endsWith('ok'))

    client.send(post)
    const { received } = await client.ended()

    expect(received.slice(received.indexOf('\r\n\r\nok') + 6)).toBe('')
  })
})
