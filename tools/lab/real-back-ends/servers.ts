/**
 * Starts servers of many makes, each of which closes a connection that has been idle for `idleSeconds`, less than the
 * gateway keeps it.
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
  /** The port of a Node server that answers what is not a file. */
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
  /** Takes a request body in chunks. */
  readonly chunks: boolean
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
  ...{ name, program, command, files: false, passesOn: false, chunks: true },
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

const modules = 'mpm_event authz_core mime filter deflate rewrite proxy proxy_http'.split(' ')

const apache = async ({ path, directory, port, idleSeconds, files, echo }: Place): Promise<Command> => {
  const file = await configured(
    directory,
    `ServerRoot ${directory}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${directory}/apache.pid
DefaultRuntimeDir ${directory}
ErrorLog ${directory}/error.log
${asRoot ? 'User nobody\nGroup nogroup' : ''}
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
KeepAlive On
KeepAliveTimeout ${idleSeconds}
MaxKeepAliveRequests 0
TypesConfig /dev/null
AddType text/plain .txt
AddOutputFilterByType DEFLATE text/plain
DocumentRoot ${files}
RewriteEngine On
RewriteCond %{QUERY_STRING} ^file=(.+)$
RewriteRule ^ ${files}/%1 [L]
RewriteRule ^/(.*)$ http://127.0.0.1:${echo}/$1 [P]
`,
  )
  return { path, args: ['-DFOREGROUND', '-f', file] }
}

const lighttpd = async ({ path, directory, port, idleSeconds, files, echo }: Place): Promise<Command> => {
  const file = await configured(
    directory,
    `server.modules = ("mod_rewrite", "mod_proxy")
server.bind = "127.0.0.1"
server.port = ${port}
server.document-root = "${files}"
server.upload-dirs = ("${directory}")
server.max-keep-alive-idle = ${idleSeconds}
server.max-keep-alive-requests = 100000
mimetype.assign = (".txt" => "text/plain", "" => "application/octet-stream")
url.rewrite-once = ("^/market/insights\\?file=(.*)$" => "/$1")
$HTTP["url"] =~ "^/$|^/(market|valuation)/" {
  proxy.server = ("" => (("host" => "127.0.0.1", "port" => ${echo})))
}
`,
  )
  return { path, args: ['-D', '-f', file] }
}

const caddy = async ({ path, directory, port, idleSeconds, files, echo }: Place): Promise<Command> => {
  const file = await configured(
    directory,
    `{
  admin off
  auto_https off
  servers {
    timeouts {
      idle ${idleSeconds}s
    }
  }
}
http://127.0.0.1:${port} {
  @file query file=*
  handle @file {
    rewrite * /{query.file}
    encode gzip
    file_server {
      root ${files}
    }
  }
  handle {
    reverse_proxy 127.0.0.1:${echo}
  }
}
`,
  )
  const env = { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory }
  return { path, args: ['run', '--adapter', 'caddyfile', '--config', file], env }
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

// Closes each connection, and has no end of a body that comes in chunks.
const php = async ({ path, port }: Place): Promise<Command> => ({
  path,
  args: ['-d', 'post_max_size=0', '-d', 'memory_limit=256M', '-S', `127.0.0.1:${port}`, join(here, 'echo.php')],
  env: { PHP_CLI_SERVER_WORKERS: '4' },
  leavesWorkers: true,
})

const java = async ({ path, port, idleSeconds }: Place): Promise<Command> => ({
  path: path.replace(/javac$/, 'java'),
  args: [`-Dsun.net.httpserver.idleInterval=${idleSeconds}`, join(here, 'Echo.java'), String(port)],
})

/** The servers of the drill, in the order of its table. */
export const servers: readonly Server[] = [
  server('nginx', 'nginx', nginx, { files: true, passesOn: true }),
  server('Apache', 'apache2', apache, { files: true, passesOn: true }),
  server('lighttpd', 'lighttpd', lighttpd, { files: true, passesOn: true }),
  server('Caddy', 'caddy', caddy, { files: true, passesOn: true }),
  server('HAProxy', 'haproxy', haproxy, { passesOn: true }),
  server('Python http.server', 'python3', python),
  server('gunicorn', 'gunicorn', gunicorn),
  server('uvicorn', 'uvicorn', uvicorn),
  server('Node', 'node', node),
  server('Go', 'go', go),
  server('PHP', 'php', php, { chunks: false }),
  server('Java', 'javac', java),
]
