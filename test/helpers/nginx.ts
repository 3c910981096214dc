/** Runs a real nginx as the upstream of a test: a server of another make. By default it serves each of the nine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allOperations } from '../../src/operations.ts'
import { endProcess } from './end-process.ts'
import { onFreePort } from './free-port.ts'

/** Records one request as nginx read it. */
export interface NginxRequest {
  readonly operation: string
  readonly method: string
  /** The raw target, with its query. */
  readonly target: string
  readonly host: string
  readonly contentType: string
  readonly body: string
}

export interface Nginx {
  /** Where it keeps its files, until it is stopped. */
  readonly directory: string
  readonly port: number
  readonly origin: string
  /** Reads what nginx has responded with so far, in order. */
  readonly requests: () => Promise<readonly NginxRequest[]>
  /** Ends the process and removes its files. */
  readonly stop: () => Promise<void>
}

/** Renders the `http` block. `GET /up` on the port must respond with `nginx PID`. */
export type RenderHttp = (directory: string, port: number) => string

/**
 * Starts nginx on a free loopback port. Without `render`, each of the nine gets 200, and `nginx METHOD TARGET` as
 * its body and its operation in `X-Operation`; anything else is 404. Bodies up to 1 MiB are recorded. `beside` is what
 * stands beside the `http` block. Throws with what nginx said when it does not start.
 */
export const startNginx = (path: string, render: RenderHttp = renderNine, beside = ''): Promise<Nginx> =>
  onFreePort((port) => startOnce(path, port, render, beside))

const startOnce = async (path: string, port: number, render: RenderHttp, beside: string): Promise<Nginx> => {
  const directory = await mkdtemp(join(tmpdir(), 'nginx-'))
  const configFile = join(directory, 'nginx.conf')
  await writeFile(configFile, config(directory, render(directory, port), beside))
  const child = spawn(path, ['-p', directory, '-e', 'stderr', '-c', configFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const stop = async (): Promise<void> => {
    await endProcess(child)
    await rm(directory, { recursive: true, force: true })
  }
  const origin = `http://127.0.0.1:${port}`
  if (!(await serves(child, origin))) {
    await stop()
    throw new Error(`nginx did not start on port ${port}: ${said}`)
  }
  const requests = async (): Promise<readonly NginxRequest[]> => {
    // A record is written just after its response, and before the one process turns to anything else.
    await fetch(`${origin}/up`)
    return readRequests(join(directory, 'requests.log'))
  }
  return { directory, port, origin, requests, stop }
}

const serves = async (child: ChildProcess, origin: string): Promise<boolean> => {
  let failed = false
  child.once('error', () => {
    failed = true
  })
  for (let tries = 0; tries < 1200; tries++) {
    if (failed || child.exitCode !== null || child.signalCode !== null) return false
    const response = await fetch(`${origin}/up`).catch(() => null)
    // Another server may be listening there: only the page of this configuration counts.
    if ((await response?.text()) === `nginx ${child.pid}`) return true
    await sleep(25)
  }
  return false
}

const readRequests = async (file: string): Promise<readonly NginxRequest[]> => {
  const text = await readFile(file, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): NginxRequest => JSON.parse(line))
}

/** Renders where nginx keeps what it has no room for, for the `http` block: its own places need a privilege. */
export const tempPaths = (directory: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ')

/** Writes the configuration. One process, so that its id is all there is to end. */
const config = (directory: string, http: string, beside: string): string => `
${beside}
daemon off;
master_process off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  ${tempPaths(directory)}
  ${http}
}
`

/**
 * nginx reads a request body only on behalf of a proxy: each of the nine is passed on to an inner server over a UNIX
 * socket, and the record carries the body.
 */
const renderNine: RenderHttp = (directory, port) => `
  client_max_body_size 0;
  client_body_buffer_size 1m;
  log_format record escape=json
    '{"operation":"$operation","method":"$request_method","target":"$request_uri","host":"$http_host",'
    '"contentType":"$content_type","body":"$request_body"}';
  map $uri $operation {
    default "";
${allOperations.map(({ path, id }) => `    ${path} ${id};`).join('\n')}
  }
  server {
    listen 127.0.0.1:${port};
    access_log off;
    location / { return 404 "nginx 404\\n"; }
    location = /up { return 200 "nginx $pid"; }
${allOperations.map((operation) => location(directory, operation)).join('\n')}
  }
  server {
    listen unix:${directory}/inner.sock;
    access_log off;
    location / {
      default_type text/plain;
      return 200 "nginx $request_method $request_uri";
    }
  }
`

const location = (directory: string, { path, method }: { readonly path: string; readonly method: string }): string => `
    location = ${path} {
      if ($request_method != ${method}) { return 405; }
      access_log ${directory}/requests.log record;
      add_header X-Operation $operation;
      proxy_pass http://unix:${directory}/inner.sock;
    }`
