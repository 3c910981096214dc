/**
 * Counts the POSTs that meet an idle connection just being closed: bursts of them at the idle timeout of four servers
 * of other makes, through this gateway and through nginx in the same run.
 * `node tools/lab/stale-posts.ts [POSTS] [SECONDS]`: so many for each back end and proxy (2000), at an idle timeout of
 * so many seconds (2). Wants Debian's nginx, gunicorn, uvicorn and golang-go.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { now, sleep } from '../../src/core/lib/clock.ts'
import { allOperations, type Group, groups } from '../../src/operations.ts'
import { tempPaths } from '../../test/helpers/nginx.ts'
import { program } from '../../test/helpers/program.ts'
import { type Running, startServer } from '../bench/process.ts'
import { startServerOf } from './real-back-ends/drill.ts'
import { servers } from './real-back-ends/servers.ts'

const [, , posts = '2000', seconds = '2'] = process.argv
const idleSeconds = Number(seconds)
const burst = 50
const rounds = Math.ceil(Number(posts) / burst)
// A burst is sent this long before the timeout at the earliest, and as long after it at the latest.
const spreadMs = 20

/** A back end, and the operation behind which it stands. */
interface Behind {
  readonly name: string
  readonly group: Group
  readonly path: string
  readonly running: Running
}

/** Sends one POST, and resolves with its status; 0: no response. */
const post = (agent: Agent, port: number, path: string): Promise<number> =>
  new Promise((resolve) => {
    const headers = { 'Content-Length': 2, 'X-Probe': 'stale' }
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers })
    sent.once('response', (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0))
    })
    sent.once('error', () => resolve(0))
    sent.end('{}')
  })

/** Sends every burst to one back end through one proxy; counts the statuses. */
const load = async (port: number, { path }: Behind, delayMs: number): Promise<ReadonlyMap<number, number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: burst })
  const counts = new Map<number, number>()
  await sleep(delayMs)
  for (let round = 0; round < rounds; round++) {
    const statuses = await Promise.all(Array.from({ length: burst }, () => post(agent, port, path)))
    const end = now()
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
    const offsetMs = (((round * 7) % rounds) / rounds) * 2 * spreadMs - spreadMs
    await sleep(end + idleSeconds * 1000 + offsetMs - now())
  }
  agent.destroy()
  return counts
}

const gateway = (directory: string, behind: readonly Behind[], defaults: object): Promise<Running> =>
  startServer(directory, '/market/insights', async (port) => {
    const file = join(directory, 'gateway.json')
    const upstreams = Object.fromEntries(
      groups.map((group) => {
        const here = behind.find((each) => each.group === group)
        return [group, here === undefined ? 'sandbox' : `http://127.0.0.1:${here.running.port}`]
      }),
    )
    const listen = { host: '127.0.0.1', port }
    await writeFile(file, JSON.stringify({ listen, admin: { port: 0 }, log: { access: false }, defaults, upstreams }))
    return { path: process.execPath, args: ['src/main.ts', 'serve', '--config', file] }
  })

const nginxProxy = (directory: string, behind: readonly Behind[], nginx: string): Promise<Running> =>
  startServer(directory, '/market/insights', async (port) => {
    const file = join(directory, 'nginx.conf')
    const pools = behind.map(
      ({ group, running }) => `upstream ${group} { server 127.0.0.1:${running.port}; keepalive ${burst * 2}; }`,
    )
    const locations = behind.map(({ path, group }) => `location = ${path} { proxy_pass http://${group}; }`)
    await writeFile(
      file,
      `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  ${tempPaths(directory)}
  access_log off; keepalive_requests 100000; proxy_http_version 1.1; proxy_set_header Connection "";
  ${pools.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location = /market/insights { return 200; }
    ${locations.join('\n    ')}
  }
}
`,
    )
    return { path: nginx, args: ['-p', directory, '-e', 'stderr', '-c', file] }
  })

const place = await mkdtemp(join(tmpdir(), 'stale-'))
const stops: (() => Promise<unknown>)[] = []
try {
  const paths = allOperations.filter(
    ({ method }, i) => method === 'POST' && allOperations[i - 1]?.group !== allOperations[i]?.group,
  )
  const behind: Behind[] = []
  const asked = servers.filter(({ name }) => ['nginx', 'gunicorn', 'go', 'uvicorn'].includes(name))
  for (const [i, server] of asked.entries()) {
    const found = await program(server.program)
    if (found.missing !== null) throw new Error(found.missing)
    const operation = paths.filter(({ id }) => id !== 'valuation.forecast')[i]
    if (operation === undefined) throw new Error(`no group for ${server.name}`)
    const started = await startServerOf(server, found.path, place, idleSeconds, stops)
    behind.push({ name: server.name, group: operation.group, path: operation.path, running: started })
  }
  const nginx = await program('nginx')
  if (nginx.missing !== null) throw new Error(nginx.missing)
  const open = async (name: string, start: (directory: string) => Promise<Running>) => {
    const directory = join(place, name.replaceAll(/\W/g, '-'))
    await mkdir(directory)
    const started = await start(directory)
    stops.push(started.stop)
    return { name, port: started.port }
  }
  const proxies = [
    await open('nginx proxy', (directory) => nginxProxy(directory, behind, nginx.path)),
    await open('gateway', (directory) => gateway(directory, behind, {})),
    // As nginx's own pool, which keeps a connection for 60 s: what looking alone does, without the margin.
    await open('gateway keepAlive 60s', (directory) => gateway(directory, behind, { keepAlive: '60s' })),
  ]
  const pairs = proxies.flatMap((proxy) => behind.map((each) => ({ proxy, each })))
  const counted = await Promise.all(
    pairs.map(async ({ proxy, each }, i) => ({
      proxy: proxy.name,
      'back end': each.name,
      counts: await load(proxy.port, each, (i * idleSeconds * 1000) / pairs.length),
    })),
  )
  console.table(
    counted.map(({ counts, ...names }) => {
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
      const lost = all - (counts.get(200) ?? 0)
      return { ...names, POSTs: all, lost, '%': Math.round((lost / all) * 1000) / 10, by: JSON.stringify([...counts]) }
    }),
  )
} finally {
  for (const stop of stops.toReversed()) await stop()
  await rm(place, { recursive: true, force: true })
}
