/**
 * What Compose starts, started by hand on the same files: two gateways behind HAProxy, the stub upstream, and
 * Prometheus. Only addresses are others. One gateway is stopped, and then the other one is killed.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { startClosedLoop } from '../../helpers/closed-loop-load.ts'
import { freePort } from '../../helpers/free-port.ts'
import { gatherText } from '../../helpers/gather-text.ts'
import { needProgram } from '../../helpers/program.ts'
import { runPrometheus } from '../../helpers/prometheus.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { documentsOf, read, root, scratch } from './files.ts'

const [haproxy, prometheus] = [await needProgram('haproxy'), await needProgram('prometheus')]
const compose = 'config/examples/compose'

/** Sends a request by its number, of the nine in turn; resolves to the status, or the code of what went wrong. */
const ask = (port: number, n: number, methods: readonly string[]): Promise<number | string> =>
  new Promise((resolve) => {
    const operations = allOperations.filter(({ method }) => methods.includes(method))
    const { method, path } = operations[n % operations.length] ?? allOperations[0]
    const sent = request({ port, method, path: `${path}?n=${n}`, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
      response.once('error', ({ message }) => resolve(message))
    })
    sent.once('error', ({ message }) => resolve(message)).end(method === 'POST' ? '{"asset":"A-1"}' : undefined)
  })

describe.skipIf(haproxy.missing ?? prometheus.missing)('the files of Compose', () => {
  test('lose no request when a gateway is stopped, nor when one is killed', { timeout: 120_000 }, async () => {
    const folder = scratch({})
    execFileSync(process.execPath, [join(root, compose, 'tokens/make-tokens.mjs'), folder])
    const stub = spawn(process.execPath, [join(root, compose, 'upstream/stub.mjs')], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void stub.kill('SIGKILL'))
    const [said] = await once(stub.stdout.setEncoding('utf8'), 'data')
    const upstream = `http://127.0.0.1:${/\d+/.exec(said)?.[0]}`

    const startGateway = async (port: number, adminPort: number) => {
      const text = read(`${compose}/gateway/gateway.yaml`)
        .replace('port: 8080', `port: ${port}`)
        .replace('port: 9901', `port: ${adminPort}`)
        .replaceAll(/http:\/\/\w+:8080/g, upstream)
      const gateway = serve(join(scratch({ 'gateway.yaml': text }), 'gateway.yaml'), { TOKENS: folder })
      await waitForListening(gateway)
      return gateway
    }
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const
    const [a, b] = await Promise.all([startGateway(ports[0], ports[1]), startGateway(ports[2], ports[3])])

    const token = readFileSync(join(folder, 'metrics/token'), 'utf8')
    // As Prometheus asks in the network of Compose.
    const scrape = `GET /metrics HTTP/1.1\r\nHost: gateway-a:9901\r\nConnection: close\r\nAuthorization: Bearer ${token}`
    expect(parseStatus(await exchangeRaw(ports[1], `${scrape}\r\n\r\n`))).toBe(200)

    const [front, stats] = [await freePort(), join(folder, 'stats.sock')]
    const config = read(`${compose}/haproxy/haproxy.cfg`)
      .replace('bind :8080', `bind 127.0.0.1:${front}`)
      .replace('gateway-a:8080 port 9901', `127.0.0.1:${ports[0]} port ${ports[1]}`)
      .replace('gateway-b:8080 port 9901', `127.0.0.1:${ports[2]} port ${ports[3]}`)
      .replace('\nglobal\n', `\nglobal\n    stats socket ${stats}\n`)
    const balancer = spawn(haproxy.path ?? '', ['-db', '-f', join(scratch({ 'haproxy.cfg': config }), 'haproxy.cfg')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void balancer.kill('SIGKILL'))
    const log = gatherText(balancer.stdout)
    await expect.poll(() => ask(front, 0, ['GET'])).toBe(200)

    // Prometheus has the shipped file, and both gateways take its token.
    const [scraping] = documentsOf(
      read(`${compose}/prometheus/prometheus.yml`)
        .replace('"gateway-a:9901", "gateway-b:9901"', `"127.0.0.1:${ports[1]}", "127.0.0.1:${ports[3]}"`)
        .replace('/run/tokens', folder)
        .replace('/etc/prometheus-rules', join(root, 'config/examples/prometheus')),
    )
    const watching = await runPrometheus(prometheus.path ?? '', scraping ?? {})
    onTestFinished(() => watching.close())

    let n = 0
    const askSlowly = async (methods: readonly string[]) => {
      await pause(30)
      return ask(front, n++, methods)
    }
    const mixed = startClosedLoop(() => askSlowly(['GET', 'POST']))
    await mixed.more(100)
    a.signal('SIGTERM')
    expect(await a.exited).toEqual({ code: 0, signal: null })
    await mixed.more(100)
    await mixed.stop()
    const stopped = mixed.responses.filter((status) => status !== 200)
    await expect
      .poll(async () => (await watching.query('up')).map(({ value }) => value).sort(), { timeout: 20_000 })
      .toEqual([0, 1])

    const again = await startGateway(ports[0], ports[1])
    await expect.poll(log, { timeout: 20_000 }).toMatch(/Server lender_gateway\/a is UP/)
    const reads = startClosedLoop(() => askSlowly(['GET']))
    await reads.more(100)
    b.signal('SIGKILL')
    await expect.poll(log, { timeout: 20_000 }).toMatch(/Server lender_gateway\/b is DOWN/)
    await reads.more(100)
    await reads.stop()
    const killed = reads.responses.filter((status) => status !== 200)
    again.signal('SIGKILL')

    expect([stopped, killed]).toEqual([[], []])
    console.log(`${mixed.responses.length} requests over a stop, ${reads.responses.length} GETs over a kill: 0 failed`)
  })
})
