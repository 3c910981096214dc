import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allOperations } from '../../../src/operations.ts'
import { tempPaths } from '../../../test/helpers/nginx.ts'
import { program } from '../../../test/helpers/program.ts'
import { type Speech, startServer } from '../process.ts'
import { writeCertificate } from './certificate.ts'
import { type Peer, probePath } from './peer.ts'

const variant = (
  name: string,
  description: string,
  onRequest: boolean,
  more: string | ((directory: string) => string),
  speaks: Speech = 'http',
): Peer => ({
  name,
  description,
  onRequest,
  start: async ({ upstreamPort, directory, options }) => {
    const { path, missing } = await program('nginx')
    if (missing !== null) return { missing }
    const files = speaks !== 'http' ? await writeCertificate(directory) : null
    if (files !== null && 'missing' in files) return files
    const shown = files === null ? '' : `ssl_certificate ${files.certificate}; ssl_certificate_key ${files.key};`
    const serve = async (port: number) => {
      const file = join(directory, 'nginx.conf')
      const connections = Math.max(4_096, options.idle + 1_000)
      const own = typeof more === 'string' ? more : more(directory)
      await writeFile(file, config(directory, port, upstreamPort, connections, own + shown, listens[speaks]))
      return { path, args: ['-p', directory, '-e', 'stderr', '-c', file] }
    }
    return startServer(directory, probePath, serve, speaks)
  },
})

/**
 * Runs nginx with one worker, the same nine routes, forwarded fields, and a log line of the same fields, written in
 * blocks.
 */
export const nginx = variant('nginx', '1 worker, upstream keep-alive, access log buffered', false, '')

/** Runs it with TLS to clients. */
export const nginxTls = variant('nginx-tls', 'as nginx, TLS to clients', true, '', 'https')

/** Runs it with HTTP/2 to clients. */
export const nginxH2 = variant('nginx-h2', 'as nginx, HTTP/2 over TLS to clients', true, '', 'h2')

/**
 * Runs it with room for a body of 64 KiB in memory. By default nginx writes what is over 16 KiB to a file before it
 * passes it on.
 */
export const nginxMemory = variant(
  'nginx-memory',
  'the same, and request bodies up to 128 KiB stay in memory',
  true,
  'client_body_buffer_size 128k;',
)

/** Runs it with its cache, as it is usually set for small responses: files that stay open, sent by the kernel. */
export const nginxCache = variant(
  'nginx-cache',
  'as nginx, proxy_cache, sendfile, open_file_cache',
  true,
  (
    directory,
  ) => `proxy_cache_path ${directory}/cache keys_zone=responses:16m max_size=64m inactive=1h use_temp_path=off;
  proxy_cache responses; proxy_cache_lock on; sendfile on; tcp_nopush on; open_file_cache max=1000;`,
)

const listens = { http: '', https: ' ssl', h2: ' ssl http2' } as const

/** Writes the configuration. As root the worker stays root: it could not read the bench's own directory otherwise. */
const config = (
  directory: string,
  port: number,
  upstreamPort: number,
  connections: number,
  more: string,
  listens: string,
): string => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log stderr warn;
events { worker_connections ${connections}; }
http {
  ${tempPaths(directory)}
  client_max_body_size 64m;
  ${more}
  keepalive_requests 100000000;
  log_format exchange escape=json
    '{"time":$msec,"requestId":"$request_id","client":"$remote_addr","operation":"$operation","status":$status,'
    '"endpoint":"$upstream_addr","durationS":$request_time,"upstreamS":"$upstream_response_time",'
    '"bytesIn":$request_length,"bytesOut":$bytes_sent}';
  upstream responding {
    server 127.0.0.1:${upstreamPort};
    keepalive 128;
    keepalive_requests 100000000;
  }
  # 1 MiB and more of a response fits into memory, and none is written to a file for a client that is slow.
  proxy_buffers 16 128k;
  proxy_max_temp_file_size 0;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $proxy_host;
  proxy_set_header X-Request-Id $request_id;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header X-Forwarded-Host $host;
  server {
    listen 127.0.0.1:${port}${listens} backlog=1024;
    access_log ${directory}/access.log exchange buffer=64k flush=500ms;
    set $operation "";
    location / { return 404; }
${allOperations
  .map(
    ({ id, method, path }) => `
    location = ${path} {
      if ($request_method != ${method}) { return 405; }
      set $operation ${id};
      add_header X-Request-Id $request_id;
      proxy_pass http://responding;
    }`,
  )
  .join('\n')}
  }
}
`
