/**
 * The commands of servers of other makes, each of which closes a connection that has been idle for `idleSeconds`, less
 * than the gateway keeps it.
 */
import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tempPaths } from '../../../test/helpers/nginx.ts'
import type { Command } from '../../bench/process.ts'

/** Where a server runs, and on what. */
export interface Place {
  /** The program. */
  readonly path: string
  /** A directory of its own. */
  readonly directory: string
  readonly port: number
  readonly idleSeconds: number
  /** Holds the files to serve. */
  readonly files: string
  /** The port of a Node server that serves what is not a file. */
  readonly echo: number
}

/** A server of one make. */
export interface Server {
  readonly name: string
  readonly program: string
  /** Serves files: `?file=NAME`. */
  readonly files: boolean
  /** Passes what is not a file on to a server of Node's. */
  readonly passesOn: boolean
  readonly command: (place: Place) => Promise<Command>
}

const here = import.meta.dirname
const asRoot = process.getuid?.() === 0

/** Writes a file of configuration, and returns where it is. */
const configured = async (directory: string, text: string): Promise<string> => {
  const file = join(directory, 'server.conf')
  await writeFile(file, text)
  return file
}

const server = (name: string, program: string, command: Server['command'], more: Partial<Server> = {}): Server => ({
  ...{ name, program, command, files: false, passesOn: false },
  ...more,
})

const nginx = async ({ path, directory, port, idleSeconds, files, echo }: Place): Promise<Command> => {
  const file = await configured(
    directory,
    `${asRoot ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr warn;
events { worker_connections 1024; }
http {
  ${tempPaths(directory)}
  access_log off; keepalive_requests 100000; keepalive_timeout ${idleSeconds}s; client_max_body_size 0;
  types { text/plain txt; }
  gzip on; gzip_min_length 1; gzip_proxied any;
  upstream echo { server 127.0.0.1:${echo}; }
  server {
    listen 127.0.0.1:${port};
    root ${files};
    location / {
      if ($arg_file) { rewrite ^ /files/$arg_file last; }
      proxy_pass http://echo;
    }
    location /files/ { alias ${files}/; }
  }
}
`,
  )
  return { path, args: ['-p', directory, '-e', 'stderr', '-c', file] }
}

const haproxy = async ({ path, directory, port, idleSeconds, echo }: Place): Promise<Command> => {
  const file = await configured(
    directory,
    `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout http-keep-alive ${idleSeconds}s
frontend front
  bind 127.0.0.1:${port}
  default_backend echo
backend echo
  server echo 127.0.0.1:${echo}
`,
  )
  return { path, args: ['-db', '-f', file] }
}

const python = async ({ path, port }: Place): Promise<Command> => ({
  path,
  args: [join(here, 'echoing.py'), String(port)],
})

// Its default class of workers keeps no connection at all; of those that do, gthread comes with it.
const gunicorn = async ({ path, port, idleSeconds }: Place): Promise<Command> => ({
  path,
  args: [
    ...['--worker-class', 'gthread', '--threads', '16', '--keep-alive', String(idleSeconds)],
    ...['--bind', `127.0.0.1:${port}`, '--chdir', here, 'echoing:wsgi'],
  ],
})

const uvicorn = async ({ path, port, idleSeconds }: Place): Promise<Command> => ({
  path,
  args: [
    ...['--no-access-log', '--lifespan', 'off', '--timeout-keep-alive', String(idleSeconds)],
    ...['--port', String(port), '--app-dir', here, 'echoing:asgi'],
  ],
})

export const node = async ({ path, port, idleSeconds }: Omit<Place, 'files' | 'echo'>): Promise<Command> => ({
  path,
  args: [join(here, 'echo.ts'), String(port), String(idleSeconds)],
})

const go = async ({ path, directory, port, idleSeconds }: Place): Promise<Command> => {
  const binary = join(directory, 'server')
  await copyFile(join(here, 'echo.go'), join(directory, 'echo.go'))
  const env = { ...process.env, GOCACHE: join(directory, 'cache'), GO111MODULE: 'off' }
  await promisify(execFile)(path, ['build', '-o', binary, join(directory, 'echo.go')], { env })
  return { path: binary, args: [String(port), String(idleSeconds)] }
}

/** The servers, those first that the drill asks. */
export const servers: readonly Server[] = [
  server('nginx', 'nginx', nginx, { files: true, passesOn: true }),
  server('HAProxy', 'haproxy', haproxy, { passesOn: true }),
  server('Python http.server', 'python3', python),
  server('Node', 'node', node),
  server('gunicorn', 'gunicorn', gunicorn),
  server('uvicorn', 'uvicorn', uvicorn),
  server('go', 'go', go),
]
