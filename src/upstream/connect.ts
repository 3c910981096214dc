import { isIP, type LookupFunction, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'
import { Alarm, wallClock } from '../clock.ts'
import type { UpstreamTlsConfig } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Reason } from '../reasons.ts'
import { certificatesOf } from './certificates.ts'
import { hearOut } from './hear-out.ts'
import { lookupName } from './names.ts'
import { whyOf } from './why.ts'

interface ConnectOptions {
  /** Until there is a connection, TLS included; null: no bound. */
  readonly timeoutMs: number | null
  readonly tls: UpstreamTlsConfig
}

/** Whether a handshake may be shortened by a session of an earlier one. */
type Handshake = 'resuming' | 'whole'

/** Makes a connection; the socket is returned at once, so that whoever no longer waits for it can destroy it. */
export type Connector = (...asked: Parameters<buildConnector.connector>) => Socket

/**
 * Makes connections to one origin, bounded by the gateway's own timer: undici's tick only every half second. Fails with
 * `connect-failed`, `connect-timeout` or `tls-failed`; in each case nothing of a request was sent. `lookup` replaces the system's.
 *
 * The certificate is verified against the endpoint's own name, or `serverName`. undici would take the name from the Host that is sent,
 * which with `host: client` is the client's to choose. Each set of settings has a cache of TLS sessions of its own: a session that was
 * begun without a client certificate must not stand in for one with it. Where the certificate ends soon, none is resumed: its successor is seen
 * at once, and its end is too.
 */
export const connector = ({ timeoutMs, tls }: ConnectOptions): ((lookup?: LookupFunction) => Connector) => {
  return (lookup = lookupName) => {
    const made: { [kind in Handshake]?: buildConnector.connector } = {}
    const build = (protocol: string, handshake: Handshake): buildConnector.connector =>
      buildConnector({
        timeout: 0,
        allowH2: false,
        ...(handshake === 'whole' && { maxCachedSessions: 0 }),
        // Said either way, or NODE_TLS_REJECT_UNAUTHORIZED has a say in it.
        rejectUnauthorized: tls.verify,
        ...(protocol === 'https:' && { secureContext: compile(tls) }),
        lookup,
      })

    return (options, callback) => {
      const shown = options.protocol === 'https:' ? certificatesOf(tls, options.host ?? '') : null
      const handshake = shown?.isEnding(wallClock()) ? 'whole' : 'resuming'
      const built = made[handshake] ?? build(options.protocol, handshake)
      made[handshake] = built
      let timedOut: GatewayError | null = null
      let reached = false
      let isNamed = isIP(options.hostname) === 0
      const alarm = new Alarm(() => {
        timedOut = new GatewayError('connect-timeout', { reason: lateReason(isNamed, reached) })
        socket.destroy(timedOut)
      })
      // undici's connector returns its socket, though its type does not say so; an empty name makes it ask for the endpoint's.
      const socket = built({ ...options, servername: tls.serverName ?? '' }, (error, connected) => {
        alarm.clear()
        if (error === null) {
          if (connected instanceof TLSSocket) shown?.note(connected, wallClock())
          return callback(null, connected)
        }
        callback(timedOut ?? (options.protocol === 'https:' && reached ? tlsFailed(error) : connectFailed(error)), null)
      }) as unknown as Socket
      hearOut(socket)
      socket.once('lookup', () => {
        isNamed = false
      })
      socket.once('connect', () => {
        reached = true
      })
      // Destroyed by whoever asked for it: nobody is told.
      socket.once('close', () => alarm.clear())
      // undici takes this code for the end of a body that ends with its connection, and a part for the whole.
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'UPSTREAM_RESET'
      })
      alarm.set(timeoutMs)
      return socket
    }
  }
}

/** Names what was waited for when time was up: an address for the name, a connection, or TLS on it. */
const lateReason = (isNamed: boolean, reached: boolean): Reason =>
  reached ? 'no-tls-in-time' : isNamed ? 'name-server-silent' : 'not-connected-in-time'

/** Makes the failure of what never became a connection. */
export const connectFailed = (cause: Error): GatewayError =>
  new GatewayError('connect-failed', { reason: whyOf(cause) ?? 'other-connect-failure', cause })

const tlsFailed = (cause: Error): GatewayError =>
  new GatewayError('tls-failed', { reason: whyOf(cause) ?? 'tls-handshake', cause })

// By the settings: a group has hundreds of endpoints, each opened and tried with the same ones.
const compiled = new WeakMap<UpstreamTlsConfig, SecureContext>()

/** Reads the authorities and certificates once, not for each connection or endpoint: the public authorities alone take about a millisecond. */
const compile = (tls: UpstreamTlsConfig): SecureContext => {
  const known = compiled.get(tls)
  if (known !== undefined) return known
  const { ca, client, minVersion } = tls
  const context = createSecureContext({
    minVersion,
    ...(ca !== null && { ca }),
    ...(client !== null && { cert: client.certificate, key: client.key }),
  })
  compiled.set(tls, context)
  return context
}
