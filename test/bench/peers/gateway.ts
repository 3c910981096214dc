import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { groups } from '../../../src/catalog.ts'
import { startServer } from '../process.ts'
import { addresses } from '../workload.ts'
import { type Peer, probePath } from './peer.ts'

const root = join(import.meta.dirname, '../../..')

// Node writes a profile when the process exits by itself, and a graceful shutdown would put its waits into it.
const endOnTerm = "data:text/javascript,process.once('SIGTERM',()=>process.exit(0))"
const profiling = ['--cpu-prof', `--cpu-prof-dir=${join(root, '.bench')}`, '--import', endOnTerm]

const variant = (name: string, description: string, onRequest: boolean, more: (port: number) => string): Peer => ({
  name,
  description,
  onRequest,
  start: ({ upstreamPort, directory, options }) =>
    startServer(directory, probePath, async (port) => {
      const file = join(directory, 'gateway.yaml')
      await writeFile(file, config(port) + more(upstreamPort))
      const flags = options.profile ? profiling : []
      return { path: process.execPath, args: [...flags, join(root, 'src/main.ts'), 'serve', '--config', file] }
    }),
})

const config = (port: number): string => `version: 1
listen:
  host: 127.0.0.1
  port: ${port}
admin:
  port: 0
`

/** Runs this gateway as it ships: every default bound on, access log on stdout. */
export const gateway = variant(
  'gateway',
  'this gateway, defaults',
  false,
  (port) => `upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${port}`).join('\n')}
`,
)

/** Runs it with the policies for several endpoints: what they cost when nothing fails. */
export const policies = variant(
  'gateway-policies',
  'three endpoints behind each group (one process, three addresses): p2c, outlier detection, retry, circuit breaker',
  true,
  (port) => `defaults:
  balance: p2c
  retry: {}
  circuitBreaker: {}
upstreams:
${groups.map((group) => `  ${group}:\n    endpoints:\n${addresses.map((each) => `      - http://${each}:${port}`).join('\n')}`).join('\n')}
`,
)
