import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { now, settlesWithin, settlesWithinWait } from '../../lib/clock.ts'
import { errorMessage, NoResponseError, tryOutside } from '../../lib/try.ts'
import { describeUpstreamError, tlsFailedError } from '../classify-error.ts'
import { createConnector } from '../http1/connector.ts'
import { probeEndpoint } from './health-check.ts'

export const maxCheckMs = 2000

/**
 * `connect` misses an endpoint that rejects the client certificate only in its responses. Rejects with an Error for
 * operators.
 */
export const checkReachable = async (
  origin: string,
  upstream: UpstreamConfig,
  mode: 'connect' | 'health',
): Promise<void> => {
  const { healthCheck, host, tls } = upstream
  const timeoutMs = Math.min(upstream.timeouts.connect ?? maxCheckMs, maxCheckMs)
  if (mode === 'health' && healthCheck !== null) {
    const connect = createConnector(origin, tls, timeoutMs)()
    const check = { ...healthCheck, timeout: Math.min(healthCheck.timeout, maxCheckMs) }
    await probeEndpoint(connect, typeof host === 'string' ? new URL(origin).host : host.name, check)
    return
  }
  const startedAt = now()
  // The connector's timer would run on while this process is suspended.
  const connect = createConnector(origin, tls, null)()
  const { promise, resolve, reject } = Promise.withResolvers<Socket | null>()
  const connecting = connect((error, connected) =>
    error === null ? resolve(connected) : reject(new Error(describeUpstreamError(error))),
  )
  try {
    if (!(await settlesWithinWait(timeoutMs, promise))) throw new NoResponseError(timeoutMs)
    const halfOfTheRest = Math.max(0, timeoutMs - (now() - startedAt)) / 2
    await untilAccepted(await promise, halfOfTheRest)
  } finally {
    connecting.destroy()
  }
}

/**
 * In TLS 1.3 the client's handshake ends before the endpoint has judged the client certificate (RFC 8446 §2): an alert
 * or session tickets follow (§4.6.1). Silence for `waitMs` counts as consent.
 */
const untilAccepted = async (socket: Socket | null, waitMs: number): Promise<void> => {
  if (!(socket instanceof TLSSocket) || !asksForCertificate(socket)) return
  const judged = new Promise<void>((resolve, reject) => {
    const fail = (error: GatewayError): void => reject(new Error(describeUpstreamError(error)))
    socket
      .on('error', (error) => fail(tlsFailedError(error)))
      .once('close', () => fail(new GatewayError('tls-failed', { reason: 'tls-handshake' })))
      .once('session', () => resolve())
      .resume()
  })
  await settlesWithin(waitMs, judged)
}

// On the client, OpenSSL knows shared algorithms only after a CertificateRequest, which names them.
const asksForCertificate = (socket: TLSSocket): boolean =>
  socket.getProtocol() === 'TLSv1.3' && socket.getSharedSigalgs().length > 0

export interface PreflightTarget {
  readonly group: Group
  readonly side: Side
  readonly name: string
  reach(): Promise<void>
}

export interface ConfiguredEndpoint extends Pick<PreflightTarget, 'group' | 'side'> {
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

export const toPreflightTarget = (
  { group, side, endpoint: { origin, pathPrefix }, upstream }: ConfiguredEndpoint,
  mode: 'connect' | 'health',
): PreflightTarget => ({ group, side, name: origin + pathPrefix, reach: () => checkReachable(origin, upstream, mode) })

interface PreflightResult extends Omit<PreflightTarget, 'reach'> {
  readonly reason: string | null
}

export interface UnreachableUpstream extends Pick<PreflightTarget, 'group' | 'side'> {
  readonly endpoints: readonly { readonly name: string; readonly reason: string }[]
}

// Connecting to hundreds at once holds up the serving process.
const firstBatchSize = 4
const headStartMs = 200

/** Checks a silent endpoint twice, because this machine may have been busy. */
export const checkAll = (targets: readonly PreflightTarget[]): Promise<readonly PreflightResult[]> =>
  Promise.all(targets.map((target) => checkOne(target, true)))

export const findUnreachableUpstreams = async (
  targets: readonly PreflightTarget[],
): Promise<readonly UnreachableUpstream[]> => {
  const upstreams = [...Map.groupBy(targets, ({ group, side }) => `${group} ${side}`).values()]
  const results = await Promise.all(upstreams.map(checkUpstream))
  return results.filter((each) => each !== null)
}

const checkUpstream = async (own: readonly PreflightTarget[]): Promise<UnreachableUpstream | null> => {
  const [{ group, side }] = own as readonly [PreflightTarget, ...PreflightTarget[]]
  const first = own.slice(0, firstBatchSize).map((target) => checkOne(target))
  if (await isAnyReachable(first, own.length > firstBatchSize ? headStartMs : null)) return null
  const all = [...first, ...own.slice(firstBatchSize).map((target) => checkOne(target))]
  if (await isAnyReachable(all, null)) return null
  const endpoints = (await Promise.all(all)).map(({ name, reason }) => ({ name, reason: reason ?? '' }))
  return { group, side, endpoints }
}

const isAnyReachable = async (
  results: readonly Promise<PreflightResult>[],
  waitMs: number | null,
): Promise<boolean> => {
  let isReachable = false
  const firstReachable = Promise.any(
    results.map(async (each) => {
      if ((await each).reason !== null) throw new Error('not there')
      isReachable = true
    }),
  ).catch(() => {}) // all failed
  if (waitMs === null) await firstReachable
  else await settlesWithin(waitMs, firstReachable)
  return isReachable
}

const checkOne = async (
  { group, side, name, reach }: PreflightTarget,
  repeatsSilent = false,
): Promise<PreflightResult> => {
  let reason: string | null = null
  await tryOutside(reach, { waitMs: maxCheckMs, repeatsSilent }).catch((error: unknown) => {
    reason = errorMessage(error)
  })
  return { group, side, name, reason }
}
