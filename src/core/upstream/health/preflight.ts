import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { now, settlesWithin, settlesWithinWait } from '../../lib/clock.ts'
import { errorMessage, NoAnswerError, tryOutside } from '../../lib/try.ts'
import { describeUpstreamError, tlsFailedError } from '../classify-error.ts'
import { createConnector } from '../http1/connector.ts'
import { probeEndpoint } from './health-check.ts'

/** The limit of one check, in ms, however long its upstream may take otherwise: an operator waits for it. */
export const maxCheckMs = 2000

/**
 * Checks an endpoint once, for at most 2 s. `connect`: whether it accepts a connection, TLS included, with nothing
 * sent. `health`: whether its health check succeeds, where it has one. `connect` does not see an endpoint that asks for
 * a client certificate and says only in its responses that it wants another. Rejects with an Error whose message is for
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
    const connect = createConnector(origin, { timeoutMs, tls })()
    const check = { ...healthCheck, timeout: Math.min(healthCheck.timeout, maxCheckMs) }
    await probeEndpoint(connect, typeof host === 'string' ? new URL(origin).host : host.name, check)
    return
  }
  const startedAt = now()
  // Its own timer would go on while this process stands still, and the endpoint would be blamed.
  const connect = createConnector(origin, { timeoutMs: null, tls })()
  const { promise, resolve, reject } = Promise.withResolvers<Socket | null>()
  const connecting = connect((error, connected) =>
    error === null ? resolve(connected) : reject(new Error(describeUpstreamError(error))),
  )
  try {
    if (!(await settlesWithinWait(timeoutMs, promise))) throw new NoAnswerError(timeoutMs)
    const halfOfTheRest = Math.max(0, timeoutMs - (now() - startedAt)) / 2
    await untilAccepted(await promise, halfOfTheRest)
  } finally {
    connecting.destroy()
  }
}

/**
 * Waits until an endpoint that asks for a client certificate has judged what it got, which may be none. In TLS 1.3 the
 * handshake of the client ends before that (RFC 8446 §2): an alert comes behind it, or else the tickets of the session
 * (§4.6.1). Where neither comes within `waitMs`, the endpoint is silent, and taken for content. Rejects with an Error.
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

// OpenSSL gives a client algorithms of the server only when it has got a CertificateRequest, which is what names them.
const asksForCertificate = (socket: TLSSocket): boolean =>
  socket.getProtocol() === 'TLSv1.3' && socket.getSharedSigalgs().length > 0

export interface PreflightTarget {
  readonly group: Group
  readonly side: Side
  readonly name: string
  /** Rejects with the reason why it is not reachable, for operators. */
  reach(): Promise<void>
}

export interface ConfiguredEndpoint {
  readonly group: Group
  readonly side: Side
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

export const toPreflightTarget = (
  { group, side, endpoint: { origin, pathPrefix }, upstream }: ConfiguredEndpoint,
  mode: 'connect' | 'health',
): PreflightTarget => ({
  group,
  side,
  name: origin + pathPrefix,
  reach: () => checkReachable(origin, upstream, mode),
})

/** The result of a check; null: the endpoint is reachable. */
interface PreflightResult extends Omit<PreflightTarget, 'reach'> {
  readonly reason: string | null
}

export interface UnreachableUpstream {
  readonly group: Group
  readonly side: Side
  readonly endpoints: readonly { readonly name: string; readonly reason: string }[]
}

// One reachable endpoint suffices, and nearly always the first few are. To connect to hundreds at once holds up the
// process that serves meanwhile.
const firstBatchSize = 4
const headStartMs = 200

/** Checks all at once, each for at most 2 s, and a silent one once more: this machine may have been busy. */
export const checkAll = (targets: readonly PreflightTarget[]): Promise<readonly PreflightResult[]> =>
  Promise.all(targets.map((target) => checkOne(target, true)))

/**
 * Lists the upstreams without a reachable endpoint. Of each a few endpoints are checked, then all, until one is
 * reachable, each for at most 2 s.
 */
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

/** Resolves as soon as one is reachable, or when none is; `waitMs` null waits for all. */
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
  ).catch(() => {}) // none is
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
