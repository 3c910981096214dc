import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allOperations } from '../../../src/operations.ts'
import { program } from '../../../test/helpers/program.ts'
import { type Speech, startServer } from '../process.ts'
import { writeCertificate } from './certificate.ts'
import { type Peer, probePath } from './peer.ts'

/**
 * Runs HAProxy with one thread, the same nine routes, forwarded fields, and a log line of the same fields. It writes
 * each line by itself to its stdout, which is a file here: it cannot open a log file, and a socket would need a reader
 * on the same machine.
 */
export const haproxy = variant('haproxy', '1 thread, http-reuse always, log to stdout line by line', 'http')

/** Runs it with TLS to clients. */
export const haproxyTls = variant('haproxy-tls', 'as haproxy, TLS to clients', 'https')

/** Runs it with HTTP/2 to clients. */
export const haproxyH2 = variant('haproxy-h2', 'as haproxy, HTTP/2 over TLS to clients', 'h2')

function variant(name: string, description: string, speaks: Speech): Peer {
  return {
    name,
    description,
    onRequest: speaks !== 'http',
    start: async ({ upstreamPort, directory, options }) => {
      const { path, missing } = await program('haproxy')
      if (missing !== null) return { missing }
      const files = speaks !== 'http' ? await writeCertificate(directory) : null
      if (files !== null && 'missing' in files) return files
      const shown = files === null ? '' : ` ssl crt ${files.certificate} alpn ${speaks === 'h2' ? 'h2' : 'http/1.1'}`
      const serve = async (port: number) => {
        const file = join(directory, 'haproxy.cfg')
        await writeFile(file, config(port, upstreamPort, Math.max(4_096, options.idle + 1_000), shown))
        return { path, args: ['-db', '-f', file] }
      }
      return startServer(directory, probePath, serve, speaks)
    },
  }
}

const config = (port: number, upstreamPort: number, maxConnections: number, shown: string): string => `
global
  nbthread 1
  maxconn ${maxConnections}
  log stdout format raw local0 info

defaults
  mode http
  timeout client 75s
  timeout http-request 10s
  timeout http-keep-alive 75s
  timeout connect 2s
  timeout server 15s

frontend clients
  bind 127.0.0.1:${port} backlog 1024${shown}
  log global
  option forwardfor
  unique-id-format %{+X}o\\ %ci%cp%Ts%rt
${allOperations
  .map(
    ({ id, method, path }) =>
      `  http-request set-var(txn.operation) str(${id}) if { method ${method} } { path -m str ${path} }`,
  )
  .join('\n')}
  http-request return status 404 unless { var(txn.operation) -m found }
  http-request set-header X-Request-Id %[unique-id]
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-response set-header X-Request-Id %[unique-id]
  log-format '{"time":"%t","requestId":"%ID","client":"%ci","operation":"%[var(txn.operation)]","status":%ST,"endpoint":"%si:%sp","durationMs":%Ta,"upstreamMs":%Tr,"bytesIn":%U,"bytesOut":%B}'
  default_backend responding

backend responding
  http-reuse always
  server upstream 127.0.0.1:${upstreamPort} pool-max-conn 128
`
