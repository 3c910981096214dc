import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { groups } from '../../../src/catalog.ts'
import { addresses } from '../addresses.ts'
import { startServer } from '../process.ts'
import { type Peer, probePath, type Site } from './peer.ts'

const root = join(import.meta.dirname, '../../..')

// Node writes a profile when the process exits by itself, and a graceful shutdown would put its waits into it.
const endOnTerm = "data:text/javascript,process.once('SIGTERM',()=>process.exit(0))"
const profiling = ['--cpu-prof', `--cpu-prof-dir=${join(root, '.bench')}`, '--import', endOnTerm]

const variant = (name: string, description: string, onRequest: boolean, more: (port: number) => string): Peer => ({
  name,
  description,
  onRequest,
  start: (site) => serve(root, site, more),
})

/** Starts the gateway of one source tree. */
const serve = (tree: string, { upstreamPort, directory, options }: Site, more: (port: number) => string) =>
  startServer(directory, probePath, async (port) => {
    const file = join(directory, 'gateway.yaml')
    await writeFile(file, config(port) + more(upstreamPort))
    const flags = options.profile ? profiling : []
    return { path: process.execPath, args: [...flags, join(tree, 'src/main.ts'), 'serve', '--config', file] }
  })

const config = (port: number): string => `version: 1
listen:
  host: 127.0.0.1
  port: ${port}
admin:
  port: 0
`

const oneEach = (port: number): string => `upstreams:
${groups.map((group) => `  ${group}: http://127.0.0.1:${port}`).join('\n')}
`

/** Runs this gateway as it ships: every default bound on, access log on stdout. */
export const gateway = variant('gateway', 'this gateway, defaults', false, oneEach)

/** Runs the gateway of another checkout, with its own dependencies: what a change costs or saves, in one interleaved run. */
export const before: Peer = {
  name: 'gateway-before',
  description: 'the gateway of the tree that --before names, defaults',
  onRequest: true,
  start: async (site) => {
    const tree = site.options.before
    return tree === null ? { missing: '--before names no tree' } : serve(resolve(tree), site, oneEach)
  },
}

/** Runs two workers that share the port, one core each where there are two. */
export const workers = variant(
  'gateway-workers',
  'two workers, defaults',
  true,
  (port) => `workers: 2\n${oneEach(port)}`,
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
${groups
  .map(
    (group) =>
      `  ${group}:\n    endpoints:\n${addresses(3)
        .map((each) => `      - http://${each}:${port}`)
        .join('\n')}`,
  )
  .join('\n')}
`,
)
