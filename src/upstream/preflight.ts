import type { Group } from '../catalog.ts'
import { within } from '../clock.ts'
import type { EndpointConfig, UpstreamConfig } from '../config/config.ts'
import { formatDuration } from '../units.ts'
import { connector } from './connect.ts'
import { probe } from './health-check.ts'
import { reasonOf } from './why.ts'

/** Is an endpoint that can be tried. */
export interface Tried {
  readonly group: Group
  readonly name: string
  /** Rejects with why it is not there, for operators. */
  reach(): Promise<void>
}

/** An endpoint as it is configured, behind its upstream. */
interface Configured {
  readonly group: Group
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

/** Makes what is tried of an endpoint. */
export const triedIn = (
  { group, endpoint: { origin, pathPrefix }, upstream }: Configured,
  mode: 'connect' | 'health',
): Tried => ({
  group,
  name: origin + pathPrefix,
  reach: () => reach(origin, upstream, mode),
})

/** Is what came of trying one; null: it is there. */
export interface Found extends Omit<Tried, 'reach'> {
  readonly reason: string | null
}

/** Is a group of which no endpoint that was tried is there. */
export interface Unreached {
  readonly group: Group
  readonly endpoints: readonly { readonly name: string; readonly reason: string }[]
}

// However long its upstream may take otherwise: an operator waits for it.
const maxReachMs = 2000

// One that is there suffices, and nearly always the first few are; to connect to hundreds at once holds up whoever serves meanwhile.
const few = 4
const headStartMs = 200

/** Tries all at once, for at most 2 s. */
export const tryAll = (tried: readonly Tried[]): Promise<readonly Found[]> => Promise.all(tried.map(tryOne))

/** Lists the groups of which none is there. Of each a few are tried, then all, until one is there, each for at most 2 s. */
export const preflight = async (tried: readonly Tried[]): Promise<readonly Unreached[]> => {
  const groups = [...new Set(tried.map(({ group }) => group))]
  const found = await Promise.all(groups.map((group) => unreached(group, tried)))
  return found.filter((each) => each !== null)
}

const unreached = async (group: Group, tried: readonly Tried[]): Promise<Unreached | null> => {
  const own = tried.filter((each) => each.group === group)
  const first = own.slice(0, few).map(tryOne)
  if (await isOneThere(first, own.length > few ? headStartMs : null)) return null
  const all = [...first, ...own.slice(few).map(tryOne)]
  if (await isOneThere(all, null)) return null
  const endpoints = (await Promise.all(all)).map(({ name, reason }) => ({ name, reason: reason ?? '' }))
  return { group, endpoints }
}

/** Tells as soon as one is there, or that none is; null waits for all. */
const isOneThere = async (found: readonly Promise<Found>[], waitMs: number | null): Promise<boolean> => {
  let isThere = false
  const looked = Promise.any(
    found.map(async (each) => {
      if ((await each).reason !== null) throw new Error('not there')
      isThere = true
    }),
  ).catch(() => {}) // none is
  if (waitMs === null) await looked
  else await within(waitMs, looked)
  return isThere
}

const tryOne = async ({ group, name, reach }: Tried): Promise<Found> => {
  let reason: string | null = null
  const told = reach().catch((error: unknown) => {
    reason = error instanceof Error ? error.message : String(error)
  })
  const inTime = await within(maxReachMs, told)
  return { group, name, reason: inTime ? reason : `no answer within ${formatDuration(maxReachMs)}` }
}

/**
 * Tries an endpoint once, for at most 2 s: whether it accepts a connection, TLS included, with nothing sent; or whether
 * its health check goes well, where it has one. A client certificate that it refuses after the handshake (TLS 1.3) is
 * not seen by the former. Rejects with an Error whose message is for operators.
 */
export const reach = (origin: string, upstream: UpstreamConfig, mode: 'connect' | 'health'): Promise<void> => {
  const { healthCheck, host, tls } = upstream
  const timeoutMs = Math.min(upstream.timeouts.connect ?? maxReachMs, maxReachMs)
  const connect = connector(origin, { timeoutMs, tls })()
  if (mode === 'health' && healthCheck !== null) {
    const bounded = { ...healthCheck, timeout: Math.min(healthCheck.timeout, maxReachMs) }
    return probe(connect, typeof host === 'string' ? new URL(origin).host : host.name, bounded)
  }
  return new Promise((resolve, reject) => {
    connect((error, socket) => {
      socket?.destroy()
      if (error === null) return resolve()
      reject(
        new Error(error.kind === 'connect-timeout' ? `no answer within ${formatDuration(timeoutMs)}` : reasonOf(error)),
      )
    })
  })
}
