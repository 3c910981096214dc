import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allOperations } from '../../../src/operations.ts'
import { program } from '../../../test/helpers/program.ts'
import { startServer } from '../process.ts'
import { type Peer, probePath } from './peer.ts'

/**
 * Runs Caddy on one processor, the same nine routes, id, forwarded fields, and a log line an exchange, which it writes
 * one by one. Caddy 2.6 can neither log the endpoint nor a name for the route: the method and the target name the
 * operation, and the rest of what it would log by itself is left out.
 */
export const caddy: Peer = {
  name: 'caddy',
  description: 'GOMAXPROCS=1, upstream keep-alive, log to stdout line by line',
  onRequest: false,
  start: async ({ upstreamPort, directory }) => {
    const { path, missing } = await program('caddy')
    if (missing !== null) return { missing }
    return startServer(directory, probePath, async (port) => {
      const file = join(directory, 'Caddyfile')
      await writeFile(file, config(port, upstreamPort))
      // Its own places for state, which it would otherwise look for in the home directory.
      const env = { GOMAXPROCS: '1', XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory }
      return { path, args: ['run', '--config', file, '--adapter', 'caddyfile'], env }
    })
  },
}

const config = (port: number, upstreamPort: number): string => `
{
	admin off
	auto_https off
	log default {
		output stderr
		level ERROR
	}
}
:${port} {
	bind 127.0.0.1
	log {
		output stdout
		format filter {
			wrap json
			fields {
				user_id delete
				request>remote_port delete
				request>proto delete
				request>host delete
				request>headers delete
				resp_headers>Server delete
				resp_headers>Date delete
				resp_headers>Content-Type delete
				resp_headers>Content-Length delete
				resp_headers>Cache-Control delete
			}
		}
	}
	header X-Request-Id {http.request.uuid}
	route {
${allOperations
  .map(
    ({ id, method, path }) => `
		@${id.replace('.', '-')} {
			method ${method}
			path ${path}
		}
		reverse_proxy @${id.replace('.', '-')} 127.0.0.1:${upstreamPort} {
			header_up Host {upstream_hostport}
			header_up X-Request-Id {http.request.uuid}
			transport http {
				keepalive_idle_conns_per_host 128
				compression off
			}
		}`,
  )
  .join('\n')}
		respond 404
	}
}
`
