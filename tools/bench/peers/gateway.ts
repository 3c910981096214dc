import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { groups } from '../../../src/operations.ts'
import { addresses } from '../addresses.ts'
import { apiKeyAuth, clientChecks, clientsFile, clientsText } from '../clients.ts'
import { spanServer, spansUrl, startSideServer } from '../side-server.ts'
import { writeCertificate } from './certificate.ts'
import { projectRoot, serveTree } from './gateway-tree.ts'
import type { Peer, Site } from './peer.ts'

const variant = (name: string, description: string, onRequest: boolean, more: (port: number) => string): Peer => ({
  name,
  description,
  onRequest,
  start: (site) => serveTree(projectRoot, site, (port) => gatewayFile(port, roomFor(site)) + more(site.upstreamPort)),
})

/** Writes what every gateway here begins with. */
export const gatewayFile = (
  port: number,
  { adminPort = 0, maxConnections = 10_000, tls = '' } = {},
): string => `version: 1
listen:
  host: 127.0.0.1
  port: ${port}
  maxConnections: ${maxConnections}
${tls}admin:
  port: ${adminPort}
`

/** Leaves the default of 10,000 client connections, unless so many are to be idle that the busy ones had no room. */
const roomFor = ({ options }: Site) => ({ maxConnections: Math.max(10_000, options.idle + 1_000) })

/**
 * Writes the upstreams: the same endpoints behind each group, one upstream process on several addresses. `more` is what
 * else each group states, in one line.
 */
export const behindEach = (hosts: readonly string[], port: number, more = ''): string => {
  const endpoints = hosts.map((host) => `      - http://${host}:${port}`).join('\n')
  const stated = more === '' ? '' : `\n    ${more}`
  return `upstreams:\n${groups.map((group) => `  ${group}:\n    endpoints:\n${endpoints}${stated}`).join('\n')}\n`
}

const oneEach = (port: number): string => behindEach(addresses(1), port)

/** Runs this gateway as it ships: every default limit on, access log on stdout. */
export const gateway = variant('gateway', 'this gateway, defaults', false, oneEach)

const ofBefore = (name: string, description: string, more: (port: number) => string): Peer => ({
  name,
  description: `the gateway of the tree that --before names, ${description}`,
  onRequest: true,
  start: async (site) => {
    const tree = site.options.before
    return tree === null
      ? { missing: '--before names no tree' }
      : serveTree(resolve(tree), site, (port) => gatewayFile(port, roomFor(site)) + more(site.upstreamPort))
  },
})

/**
 * Runs the gateway of another checkout, with its own dependencies: what a change costs or saves, in one interleaved
 * run.
 */
export const gatewayBefore = ofBefore('gateway-before', 'defaults', oneEach)

/** Runs two workers that share the port, one core each where there are two. */
export const gatewayWorkers = variant(
  'gateway-workers',
  'two workers, defaults',
  true,
  (port) => `workers: 2\n${oneEach(port)}`,
)

const cached = 'defaults, cache on, responses of 2 MiB at most'
const cachedEach = (port: number): string => `operations:
  market.insights: { cache: { maxEntry: 2MiB } }
${oneEach(port)}`

/** Runs it with the cache of the operation that is measured. */
export const gatewayCache = variant('gateway-cache', cached, true, cachedEach)

/** Runs that of another checkout. */
export const gatewayCacheBefore = ofBefore('gateway-cache-before', cached, cachedEach)

/** Runs it with nothing counted: what the others have of metrics. */
export const gatewayUncounted = variant(
  'gateway-uncounted',
  'this gateway, metrics: none',
  true,
  (port) => `metrics: none\n${oneEach(port)}`,
)

/** Runs it with traces, of which one in a hundred is sampled and sent to a server beside it. */
export const gatewayTraced: Peer = {
  name: 'gateway-traced',
  description: 'this gateway, defaults, tracing with sample: 1%',
  onRequest: true,
  start: async (site) => {
    const receiver = await startSideServer(spanServer)
    const more = `tracing: { otlp: "${spansUrl(receiver)}", sample: 1% }\n`
    const running = await serveTree(
      projectRoot,
      site,
      (port) => gatewayFile(port, roomFor(site)) + more + oneEach(site.upstreamPort),
    )
    return { ...running, stop: () => running.stop().finally(receiver.stop) }
  },
}

const overTls = (name: string, description: string, http2: string, isBefore = false): Peer => ({
  name,
  description,
  onRequest: true,
  start: async (site) => {
    const tree = isBefore ? site.options.before : projectRoot
    if (tree === null) return { missing: '--before names no tree' }
    const files = await writeCertificate(site.directory)
    if ('missing' in files) return files
    const pair = `{ certificate: "file:${files.certificate}", key: "file:${files.key}" }`
    const tls = `  http2: ${http2}\n  tls:\n    certificates: [${pair}]\n`
    const text = (port: number): string => gatewayFile(port, { ...roomFor(site), tls }) + oneEach(site.upstreamPort)
    return serveTree(resolve(tree), site, text, http2 === 'false' ? 'https' : 'h2')
  },
})

/** Runs it with TLS to clients. */
export const gatewayTls = overTls('gateway-tls', 'this gateway, defaults, TLS to clients', 'false')

/** Runs it with HTTP/2 to clients. */
export const gatewayH2 = overTls('gateway-h2', 'this gateway, defaults, HTTP/2 over TLS to clients', 'true')

/** Runs it with Node's codec of HTTP/2. */
export const gatewayH2Node = overTls('gateway-h2-node', 'this gateway, HTTP/2 by Node’s codec', '{ codec: node }')

/** Runs that of another checkout, over TLS, and with HTTP/2. */
export const gatewayTlsBefore = overTls('gateway-tls-before', 'the gateway of --before, TLS to clients', 'false', true)
export const gatewayH2Before = overTls('gateway-h2-before', 'the gateway of --before, HTTP/2 over TLS', 'true', true)

/** Runs it with the policies for several endpoints: what they cost when nothing fails. */
export const gatewayPolicies = variant(
  'gateway-policies',
  'three endpoints behind each group (one process, three addresses): p2c, outlier detection, retry, circuit breaker',
  true,
  (port) => `defaults:
  balance: p2c
  retry: {}
  circuitBreaker: {}
${behindEach(addresses(3), port)}`,
)

/** Runs it with so many endpoints behind each group, and no policy that it would not have by default. */
export const withEndpoints = (count: number): Peer =>
  variant(`gateway-${count}-endpoints`, `endpoints behind each group: ${count}, defaults`, true, (port) =>
    behindEach(addresses(count), port),
  )

/** Runs it with so many clients that have keys, addresses and rates; no client reaches the limit. */
export const withClients = (count: number): Peer => ({
  name: `gateway-${count}-clients`,
  description: `clients: ${count}, each with a key, an address and a rate`,
  onRequest: true,
  start: async (site) => {
    await writeFile(clientsFile(site.directory), clientsText(count, clientChecks))
    const more = `${apiKeyAuth}clients: file:clients.json\n`
    return serveTree(projectRoot, site, (port) => gatewayFile(port, roomFor(site)) + more + oneEach(site.upstreamPort))
  },
})
