import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { groups } from '../../../src/catalog.ts'
import { startServer } from '../process.ts'
import { type Peer, probePath } from './peer.ts'

const root = join(import.meta.dirname, '../../..')

// Node writes a profile when the process exits by itself, and a graceful shutdown would put its waits into it.
const endOnTerm = "data:text/javascript,process.once('SIGTERM',()=>process.exit(0))"
const profiling = ['--cpu-prof', `--cpu-prof-dir=${join(root, '.bench')}`, '--import', endOnTerm]

/** Runs this gateway as it ships: every default bound on, access log on stdout. */
export const gateway: Peer = {
  name: 'gateway',
  description: 'this gateway, defaults',
  onRequest: false,
  start: ({ upstreamPort, directory, options }) =>
    startServer(directory, probePath, async (port) => {
      const file = join(directory, 'gateway.yaml')
      await writeFile(file, config(port, upstreamPort))
      const flags = options.profile ? profiling : []
      return { path: process.execPath, args: [...flags, join(root, 'src/main.ts'), 'serve', '--config', file] }
    }),
}

const config = (port: number, upstreamPort: number): string => `version: 1
listen:
  host: 127.0.0.1
  port: ${port}
upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${upstreamPort}`).join('\n')}
`
