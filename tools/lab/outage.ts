/**
 * Makes the upstreams of a real gateway fail under load, and checks each second whether everything that an operator
 * reads names the cause: `node tools/lab/outage.ts [SECONDS] [WORKERS]` (90 s of each fault, one process). Two groups,
 * one with `retry` and one without, both with a circuit breaker, are asked 12 times a second each.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { sleep } from '../../src/core/lib/clock.ts'
import { makeCertificates } from '../../test/helpers/certificates.ts'
import { program } from '../../test/helpers/program.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const asked = { market: '/market/insights', leads: '/leads/pipeline' } as const
type Group = keyof typeof asked
const groups = Object.keys(asked) as readonly Group[]

/** What goes wrong, and what names it. */
export interface Fault {
  readonly name: string
  /** What `upstreams` says of a group; and what breaks it, or nothing when it is broken from the start. */
  open(onEnd: (end: () => unknown) => void): Promise<{ readonly upstream: object; breakIt(): unknown }>
  /** What names the cause in a sentence, and in a line of the log. */
  readonly words: RegExp
  readonly logged: RegExp
  /** By what it is counted in the metric. */
  readonly reason: string
  readonly severity: 'critical' | 'warning'
}

const serve = async <S extends Server | TlsServer>(server: S, onEnd: (end: () => unknown) => void): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(() => close(server))
  return (server.address() as AddressInfo).port
}

const close = (server: Server | TlsServer): void => {
  server.close()
  server.closeAllConnections()
}

const well: RequestListener = (_, response) => void response.end('{}')

/** An endpoint that is gone. */
export const deadEndpoint: Fault = {
  name: 'dead',
  async open(onEnd) {
    const server = createServer(well)
    const port = await serve(server, onEnd)
    return { upstream: { endpoints: [`http://127.0.0.1:${port}`] }, breakIt: () => close(server) }
  },
  words: /ECONNREFUSED/,
  logged: /ECONNREFUSED/,
  reason: 'refused',
  severity: 'critical',
}

/** One of two that is gone. */
export const oneOfTwoDead: Fault = {
  ...deadEndpoint,
  name: 'one of two dead',
  async open(onEnd) {
    const other = await serve(createServer(well), onEnd)
    const { upstream, breakIt } = await deadEndpoint.open(onEnd)
    const { endpoints } = upstream as { readonly endpoints: readonly string[] }
    return { upstream: { endpoints: [...endpoints, `http://127.0.0.1:${other}`] }, breakIt }
  },
  severity: 'warning',
}

const hanging: Fault = {
  name: 'hanging',
  async open(onEnd) {
    let hangs = false
    const port = await serve(
      createServer((request, response) => (hangs ? undefined : well(request, response))),
      onEnd,
    )
    const upstream = { endpoints: [`http://127.0.0.1:${port}`], timeouts: { headers: '1s' } }
    return {
      upstream,
      breakIt: () => {
        hangs = true
      },
    }
  },
  words: /did not answer within timeouts\.headers/,
  logged: /headers-timeout/,
  reason: 'headers-timeout',
  severity: 'critical',
}

const nameless: Fault = {
  name: 'DNS gone',
  open: async () => ({ upstream: { endpoints: ['http://gone.invalid:8080'] }, breakIt: () => {} }),
  words: /ENOTFOUND|EAI_AGAIN/,
  logged: /ENOTFOUND|EAI_AGAIN/,
  reason: 'name-not-found|name-server-silent',
  severity: 'critical',
}

/** Makes the fault of a certificate that expires. */
const expiring = (openssl: string): Fault => ({
  name: 'certificate expired',
  async open(onEnd) {
    const made = makeCertificates(openssl)
    const server = createTlsServer(made.right, well)
    const port = await serve(server, onEnd)
    const breakIt = (): void => {
      server.setSecureContext(made.expired)
      server.closeAllConnections()
    }
    return { upstream: { endpoints: [`https://localhost:${port}`], tls: { ca: made.authority.cert } }, breakIt }
  },
  words: /CERT_HAS_EXPIRED/,
  logged: /certificate has expired/,
  reason: 'certificate-expired',
  severity: 'critical',
})

/** What was seen of a fault: of how many looks, lines and rejections it was named in how many. */
export interface OutageResult {
  readonly looks: number
  readonly status: number
  readonly page: number
  readonly metric: number
  readonly lines: readonly [named: number, all: number]
  readonly tail: readonly [named: number, all: number]
  /** Severities of the findings of the groups, and how many there were of a group at most. */
  readonly severities: readonly string[]
  readonly findings: number
  /** By how much `since` is outside of the first failed requests in the log, at most, in ms. */
  readonly offMs: number
  /** States that /metrics showed of the endpoint at the end. */
  readonly states: string
}

interface Options {
  readonly seconds: number
  readonly workers?: number
  readonly breaker?: object
}

/** Makes the upstreams of two groups fail, and looks. */
export const runOutage = async (
  fault: Fault,
  { seconds, workers = 1, breaker = {} }: Options,
): Promise<OutageResult> => {
  const ends: (() => unknown)[] = []
  try {
    return await look(fault, { seconds, workers, breaker }, (end) => ends.push(end))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

interface Line {
  readonly [field: string]: unknown
}

const fewestNotes = 20
const longestWaitForTailMs = 30_000

const look = async (
  fault: Fault,
  { seconds, workers, breaker }: Required<Options>,
  onEnd: (end: () => unknown) => void,
): Promise<OutageResult> => {
  const opened = await Promise.all(groups.map(() => fault.open(onEnd)))
  const folder = mkdtempSync(join(tmpdir(), 'outage-'))
  onEnd(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  const upstreams = Object.fromEntries(
    groups.map((group, i) => [group, { ...opened[i]?.upstream, ...(group === 'market' ? { retry: {} } : {}) }]),
  )
  const none = ['valuation', 'financing', 'analysis', 'risk', 'inventory', 'compliance']
  const config = {
    ...{ workers, listen: { host: '127.0.0.1', port: 0 }, admin: { port: 0 }, reload: { preflight: 'none' } },
    defaults: { circuitBreaker: breaker },
    upstreams: { ...Object.fromEntries(none.map((group) => [group, 'sandbox'])), ...upstreams },
  }
  writeFileSync(file, JSON.stringify(config))
  const lines: Line[] = []
  const ports = { listening: Promise.withResolvers<number>(), 'admin listening': Promise.withResolvers<number>() }
  const gateway = start(['serve', '--config', file], onEnd)
  eachLine(gateway, (text) => {
    const line: Line = JSON.parse(text)
    lines.push(line)
    if (line.msg === 'listening' || line.msg === 'admin listening') ports[line.msg].resolve(Number(line.port))
  })
  const [port, adminPort] = await Promise.all(Object.values(ports).map(({ promise }) => promise))
  const [base, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`]
  const notes: string[] = []
  const tail = start(['tail', '--refused', '--admin', admin], onEnd)
  eachLine(tail, (line) => notes.push(line))

  let isPaused = false
  const underWay = new Set<Promise<unknown>>()
  const load = setInterval(() => {
    if (isPaused) return
    for (const group of groups) {
      const request: Promise<unknown> = fetch(base + asked[group])
        .then((got) => got.arrayBuffer())
        .catch(() => {})
        .finally(() => underWay.delete(request))
      underWay.add(request)
    }
  }, 1000 / 12)
  onEnd(() => clearInterval(load))
  await sleep(1500)
  // A request that is under way when it breaks, or goes out on a connection that was just cut, fails of something else.
  isPaused = true
  await Promise.all(underWay)
  for (const { breakIt } of opened) breakIt()
  for (let n = 0; n < 2; n++) await (await fetch(`${admin}/status`)).text() // each of its processes has seen the end then
  isPaused = false
  const isFailure = ({ failure, failedAttempts }: Line): boolean =>
    failure !== undefined || failedAttempts !== undefined
  // An endpoint has failed as often as makes it fail, a hanging one too. One that few requests meet takes longer.
  const isFound = async (): Promise<boolean> => {
    const found: readonly FoundFinding[] = JSON.parse(await (await fetch(`${admin}/status`)).text()).findings
    return groups.every((group) => findingsOf(group, found)[0]?.severity === fault.severity)
  }
  for (let n = 0; n < 80 && !(await isFound()); n++) await sleep(250)
  await sleep(1500)

  const counted = { looks: 0, status: 0, page: 0, metric: 0, findings: 0, offMs: 0 }
  const severities = new Set<string>()
  /** By how much a time is outside of the first failed requests, up to the first line of one. */
  const offFirstFailure = (since: number, path: string): number => {
    const failed = lines.filter((line) => isFailure(line) && line.operation === path)
    const startedAt = Math.min(...failed.map((line) => Number(line.time) - durationOf(line)))
    return Math.max(0, startedAt - since, since - Number(failed[0]?.time))
  }
  const ids = { market: 'market.insights', leads: 'leads.pipeline' } as const
  let failed = new Map<Group, number>()
  let metrics = ''
  const until = Date.now() + seconds * 1000
  // On a slow machine `tail` begins late. Where an endpoint is left nothing is rejected.
  const isTailed = (): boolean => fault.severity === 'warning' || notes.length >= fewestNotes
  while (Date.now() < until || (!isTailed() && Date.now() < until + longestWaitForTailMs)) {
    await sleep(1000)
    const [status, page, exposed] = await Promise.all(
      ['/status', '/', '/metrics'].map(async (path) =>
        (await fetch(admin + path, { headers: { accept: path === '/' ? 'text/html' : '*/*' } })).text(),
      ),
    )
    metrics = exposed ?? ''
    const found: readonly FoundFinding[] = JSON.parse(status ?? '{}').findings
    const now = new Map(groups.map((group) => [group, countOf(metrics, group, fault.reason)]))
    for (const group of groups) {
      counted.looks++
      const of = findingsOf(group, found)
      const [top] = of
      counted.findings = Math.max(counted.findings, of.length)
      if (fault.words.test(top?.cause ?? '')) counted.status++
      if (top !== undefined && page?.includes(escaped(top.cause ?? '').slice(0, 40))) counted.page++
      // One that is left alone is asked seldom: what was counted stays.
      if ((now.get(group) ?? 0) >= Math.max(1, failed.get(group) ?? 0)) counted.metric++
      severities.add(top?.severity ?? 'none')
      counted.offMs = Math.max(counted.offMs, offFirstFailure(Date.parse(top?.since ?? ''), ids[group]))
    }
    failed = now
  }
  const failures = lines.filter((line) => isFailure(line) || String(line.msg).startsWith('circuit breaker'))
  const open = failures.filter(({ state }) => state !== 'closed')
  return {
    ...counted,
    severities: [...severities],
    lines: [open.filter((line) => fault.logged.test(JSON.stringify(line))).length, open.length],
    tail: [notes.filter((line) => fault.words.test(line)).length, notes.length],
    states: [...metrics.matchAll(/endpoint_state\{group="market".*state="(\w+)"\} 1$/gm)]
      .map(([, state]) => state)
      .join(),
  }
}

/** How long a request took, in ms. */
const durationOf = ({ gatewayMs, upstreamMs }: Line): number => Number(gatewayMs) + Number(upstreamMs ?? 0)

const start = (args: readonly string[], onEnd: (end: () => unknown) => void): ChildProcess => {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onEnd(() => {
    if (child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    return ended
  })
  return child
}

const eachLine = ({ stdout }: ChildProcess, take: (line: string) => void): void => {
  if (stdout !== null) createInterface({ input: stdout }).on('line', take)
}

type FoundFinding = Readonly<Record<string, string>>

const findingsOf = (group: Group, found: readonly FoundFinding[]): readonly FoundFinding[] =>
  found.filter(({ about, cause }) => about === `upstreams.${group}` || cause?.includes(`${group} `))

const countOf = (metrics: string, group: string, reason: string): number =>
  [
    ...metrics.matchAll(
      new RegExp(`upstream_failures_total\\{group="${group}",side="primary",reason="(?:${reason})"\\} (\\d+)`, 'g'),
    ),
  ]
    .map(([, count]) => Number(count))
    .reduce((sum, count) => sum + count, 0)

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , seconds = '90', workers = '1'] = process.argv
  const openssl = (await program('openssl')).path
  const faults = [deadEndpoint, ...(openssl === null ? [] : [expiring(openssl)]), hanging, nameless, oneOfTwoDead]
  for (const fault of faults) {
    const { looks, status, page, metric, lines, tail, ...seen } = await runOutage(fault, {
      seconds: Number(seconds),
      workers: Number(workers),
    })
    const of = (named: number, all: number): string => `${named} of ${all}`
    console.log(
      `${fault.name.padEnd(20)} status ${of(status, looks)}, page ${of(page, looks)}, metric ${of(metric, looks)}, log ${of(...lines)}, tail ${of(...tail)}; ` +
        `${seen.severities.join('/')}, at most ${seen.findings} finding(s) a group, since off by ${seen.offMs} ms, state ${seen.states}`,
    )
  }
}
