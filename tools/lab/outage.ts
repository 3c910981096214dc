/**
 * Makes the upstreams of a real gateway fail under load, and checks each second whether everything that an operator
 * reads names the cause. Two groups, one with `retry` and one without, both with a circuit breaker, are asked 12 times
 * a second each.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { sleep } from '../../src/core/lib/clock.ts'
import type { Line } from '../soak/child.ts'
import { startGateway } from '../soak/gateway.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const asked = { market: '/market/insights', leads: '/leads/pipeline' } as const
type Group = keyof typeof asked
const groups = Object.keys(asked) as readonly Group[]

/** What goes wrong, and what names it. */
export interface Fault {
  /** Opens the endpoints of a group, and says what breaks it. */
  open(onEnd: (end: () => unknown) => void): Promise<{ readonly endpoints: readonly string[]; breakIt(): void }>
  /** What names the cause in a sentence, and in a line of the log. */
  readonly words: RegExp
  readonly logged: RegExp
  /** By what it is counted in the metric. */
  readonly reason: string
  readonly severity: 'critical' | 'warning'
}

/** Opens a server that responds well. */
const serve = async (onEnd: (end: () => unknown) => void): Promise<{ readonly url: string; close(): void }> => {
  const server: Server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = (): void => server.close().closeAllConnections()
  onEnd(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** An endpoint that is gone. */
export const deadEndpoint: Fault = {
  async open(onEnd) {
    const { url, close } = await serve(onEnd)
    return { endpoints: [url], breakIt: close }
  },
  words: /ECONNREFUSED/,
  logged: /ECONNREFUSED/,
  reason: 'refused',
  severity: 'critical',
}

/** One of two that is gone. */
export const oneOfTwoDead: Fault = {
  ...deadEndpoint,
  async open(onEnd) {
    const [dead, other] = [await serve(onEnd), await serve(onEnd)]
    return { endpoints: [dead.url, other.url], breakIt: dead.close }
  },
  severity: 'warning',
}

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

const fewestNotes = 20
const longestWaitForTailMs = 30_000

const look = async (
  fault: Fault,
  { seconds, workers, breaker }: Required<Options>,
  onEnd: (end: () => unknown) => void,
): Promise<OutageResult> => {
  const opened = await Promise.all(groups.map(() => fault.open(onEnd)))
  const upstreams = Object.fromEntries(
    groups.map((group, i) => [
      group,
      { endpoints: opened[i]?.endpoints, ...(group === 'market' ? { retry: {} } : {}) },
    ]),
  )
  const none = ['valuation', 'financing', 'analysis', 'risk', 'inventory', 'compliance']
  const config = {
    ...{ workers, listen: { host: '127.0.0.1', port: 0 }, admin: { port: 0 }, reload: { preflight: 'none' } },
    ...{ defaults: { circuitBreaker: breaker }, shutdown: { wait: '0s' } },
    upstreams: { ...Object.fromEntries(none.map((group) => [group, 'sandbox'])), ...upstreams },
  }
  const lines: Line[] = []
  const gateway = await startGateway(JSON.stringify(config))
  onEnd(gateway.stop)
  gateway.onLine = (line) => lines.push(line)
  const { admin } = gateway
  const notes: string[] = []
  const tail = spawn(process.execPath, [main, 'tail', '--rejected', '--admin', admin], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onEnd(() => tail.kill('SIGKILL'))
  createInterface({ input: tail.stdout }).on('line', (line) => notes.push(line))

  let isPaused = false
  const underWay = new Set<Promise<unknown>>()
  const load = setInterval(() => {
    if (isPaused) return
    for (const group of groups) {
      const request: Promise<unknown> = fetch(`http://127.0.0.1:${gateway.port}${asked[group]}`)
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
