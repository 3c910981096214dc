/** Runs the cases on a real gateway, a process of its own, in front of servers in this one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { now, sleep } from '../../src/core/lib/clock.ts'
import { freePort } from '../../test/helpers/free-port.ts'
import { firstOperationOf } from './lab.ts'
import { type Case, type CaseEndpoint, cases, type Measure, percentileOf } from './traffic-shares-cases.ts'

const open = async ({ status, ms }: CaseEndpoint) => {
  const seen = { requests: 0 }
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    seen.requests++
    incoming.resume()
    const respond = (): void => void response.writeHead(status).end('{}')
    if (ms === 0) respond()
    else setTimeout(respond, ms)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, seen }
}

/** Opens the gateway of a tree, which knows nothing yet, with all cases behind it. Each lasts so many seconds. */
export const openRealCases = async (
  tree: string,
  seconds: number,
): Promise<{ measure: Measure; close: () => Promise<void> }> => {
  const place = mkdtempSync(join(tmpdir(), 'shares-'))
  const [port, adminPort] = [await freePort(), await freePort()]
  const opened = new Map(
    await Promise.all(cases.map(async (each) => [each.group, await Promise.all(each.endpoints.map(open))] as const)),
  )
  const upstream = ({ group, endpoints, outlier, retry }: Case) => ({
    endpoints: endpoints.map(({ weight }, i) => ({ url: opened.get(group)?.[i]?.url, weight })),
    ...(!outlier && { outlier: 'none' }),
    ...(retry && { retry: {} }),
  })
  const configuration = {
    listen: { host: '127.0.0.1', port },
    admin: { port: adminPort },
    log: { access: false },
    upstreams: Object.fromEntries(cases.map((each) => [each.group, upstream(each)])),
  }
  writeFileSync(join(place, 'gateway.yaml'), JSON.stringify(configuration))
  const serve = [join(tree, 'src/main.ts'), 'serve', '--config', 'gateway.yaml']
  const gateway = spawn(process.execPath, serve, { cwd: place, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(gateway, 'exit')
  const isUp = async () => (await fetch(`http://127.0.0.1:${adminPort}/ready`).catch(() => null))?.ok === true
  while (!(await isUp())) await sleep(100)

  const measure: Measure = async ({ group }, lanes) => {
    const { method, path } = firstOperationOf(group)
    const agent = new Agent({ keepAlive: true, maxSockets: lanes })
    const times: number[] = []
    let failed = 0
    const ask = async (): Promise<number> => {
      const asked = request({ port, host: '127.0.0.1', method, path, agent })
      const [response] = await once(asked.end(), 'response')
      await once(response.resume(), 'end')
      return response.statusCode
    }
    const until = now() + seconds * 1000
    const lane = async (): Promise<void> => {
      while (now() < until) {
        const from = now()
        if ((await ask()) >= 500) failed++
        times.push(now() - from)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    agent.destroy()
    const counts = (opened.get(group) ?? []).map(({ seen }) => seen.requests)
    const all = counts.reduce((sum, count) => sum + count, 0)
    return { watched: counts[0] ?? 0, all, asked: times.length, failed, p99: percentileOf(times, 99) }
  }

  const close = async (): Promise<void> => {
    gateway.kill('SIGTERM')
    await ended
    for (const { server } of [...opened.values()].flat()) server.close().closeAllConnections()
    rmSync(place, { recursive: true })
  }
  return { measure, close }
}
