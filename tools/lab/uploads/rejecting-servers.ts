/** What rejects uploads: the gateway as it ships, and nginx in the same place. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { groups } from '../../../src/operations.ts'
import type { Pair } from '../../../test/helpers/certificates.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { tempPaths } from '../../../test/helpers/nginx.ts'
import { openRawUpstream, type RawUpstream } from '../../../test/helpers/upstream.ts'
import { startGateway } from '../../soak/gateway.ts'

// What has been started ends with the process, which by a signal alone would end without a word.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** A port, and the paths on it that reject an upload of more than 1 MiB. */
interface RejectingPort {
  readonly port: number
  readonly paths: readonly string[]
}

/** A server whose response to an upload comes before it has read it. */
export interface RejectingServer {
  readonly name: string
  /** Serves TLS. */
  readonly pid: number
  /** Serves without. */
  readonly plainPid: number
  readonly plain: readonly RejectingPort[]
  readonly tls: readonly RejectingPort[]
  stop(): Promise<unknown>
}

/** Opens an upstream that responds with 413 to the first bytes of a request. */
export const openEarlyUpstream = (): Promise<RawUpstream> =>
  openRawUpstream((socket) => {
    socket
      .once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nmuch'))
      .once('end', () => socket.end())
      .resume()
  })

/** Starts gateways that respond with 404, 413, 503, 413 of an upstream's and, with a limit that is used up, 429. */
export const startGateways = async (upstream: string, { cert: certificate, key }: Pair): Promise<RejectingServer> => {
  const start = async (listen: object, more: object) => {
    const gateway = await startGateway(
      JSON.stringify({
        upstreams: Object.fromEntries(groups.map((group) => [group, upstream])),
        // As nginx's client_header_timeout: a machine with much else to do is slow with handshakes, which are not
        // measured.
        listen: { port: 0, timeouts: { headers: '60s' }, ...listen },
        admin: { port: 0 },
        reload: { preflight: 'none' },
        log: { access: false },
        ...more,
      }),
    )
    gateway.onLine = (line) => {
      if ((line.level ?? 0) >= 40) console.error(JSON.stringify(line))
    }
    return gateway
  }
  const usual = { operations: { 'inventory.sync': { state: 'reject' }, 'valuation.forecast': { maxBody: '1MiB' } } }
  const limited = { limits: { address: { rate: '1/min', burst: 1 } } }
  const tls = { http2: true, tls: { certificates: [{ certificate, key }] } }
  const started = await Promise.all([start({}, usual), start({}, limited), start(tls, usual), start(tls, limited)])
  const [plain, plainLimited, secure, secureLimited] = started
  const rejectingPorts = (one: RejectingPort['port'], other: RejectingPort['port']): RejectingPort[] => [
    { port: one, paths: ['/unknown', '/valuation/forecast', '/inventory/sync', '/valuation/score'] },
    { port: other, paths: ['/valuation/score'] },
  ]
  return {
    name: 'gateway',
    pid: secure.pid,
    plainPid: plain.pid,
    plain: rejectingPorts(plain.port, plainLimited.port),
    tls: rejectingPorts(secure.port, secureLimited.port),
    stop: () => Promise.all(started.map((each) => each.stop())),
  }
}

/** Starts nginx with the same responses. */
export const startNginx = async (
  path: string,
  folder: string,
  upstream: string,
  pair: Pair,
): Promise<RejectingServer> => {
  const [plain, tls] = [await freePort(), await freePort()]
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tls.crt'), pair.cert)
  writeFileSync(join(folder, 'tls.key'), pair.key)
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  ${tempPaths(folder)}
  access_log off;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:${plain};
    listen 127.0.0.1:${tls} ssl http2;
    ssl_certificate ${folder}/tls.crt; ssl_certificate_key ${folder}/tls.key;
    location / { return 404; }
    location = /valuation/forecast { client_max_body_size 1m; proxy_pass ${upstream}; }
    location = /inventory/sync { return 503; }
    location = /rate { return 429; }
    location = /valuation/score { proxy_pass ${upstream}; proxy_http_version 1.1; proxy_request_buffering off; }
  }
}
`,
  )
  const child = spawn(path, ['-p', folder, '-e', 'stderr', '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  for (let tries = 0; tries < 200 && !(await accepts(tls)); tries++) await pause(25)
  const paths = ['/unknown', '/valuation/forecast', '/inventory/sync', '/valuation/score', '/rate']
  return {
    name: 'nginx',
    pid: child.pid ?? 0,
    plainPid: child.pid ?? 0,
    plain: [{ port: plain, paths }],
    tls: [{ port: tls, paths }],
    stop: async () => child.kill('SIGTERM'),
  }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
