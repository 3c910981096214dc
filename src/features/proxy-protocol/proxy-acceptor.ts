import type { Socket } from 'node:net'
import type { ListenConfig } from '../../core/config/config.ts'
import { normalizeAddress } from '../../core/downstream/listener/addresses.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { CoalescedTimer } from '../../core/lib/clock.ts'
import { cidrMatcher } from '../../core/lib/net/cidr.ts'
import { setProxyHeader } from './proxied-connections.ts'
import { createHeaderFlaw, parseProxyHeader } from './proxy-header.ts'

/** Stands between an accepted connection and the server that speaks TLS or HTTP on it. */
interface ProxyAcceptor {
  /** Takes a connection of which nothing has been read. */
  accept(socket: Socket): void
  /** Applies a new configuration: it holds for connections that come from now on. */
  applyConfig(listen: ListenConfig): void
  /** Tells whether a connection has not sent all of its header. */
  isAwaited(socket: Socket): boolean
}

/** Resolves to false when the address has as many as it may have. */
export type CountConnection = (socket: Socket, address: string) => Promise<boolean>

interface ProxyAcceptorOptions {
  readonly listen: ListenConfig
  /** Called with a connection at once, or when its header has been read. What follows it has not been read. */
  onConnection(socket: Socket): void
  /** Called with a connection whose header has to come first. */
  onAwaited(socket: Socket): void
  /** Counts a connection by the address in its header, where another process counts; undefined: none does. */
  readonly countElsewhere: CountConnection | undefined
  /** Called when a header has not come, or is none; the connection is closed. `sender` is the other end of it. */
  onFailure(sender: string, failure: GatewayError): void
}

/**
 * Creates the acceptor of a listener behind load balancers. A connection from one of them must begin with a header.
 * From any other address none is read: a client that chooses whether to send one chooses its own address
 * (proxy-protocol.txt §5).
 */
export const createProxyAcceptor = ({
  listen,
  onConnection,
  onAwaited,
  countElsewhere,
  onFailure,
}: ProxyAcceptorOptions): ProxyAcceptor => {
  let isSender = compileSenders(listen)
  let timeoutMs = listen.timeouts.headers
  let isLimited = listen.maxConnectionsPerAddress !== null
  const awaited = new WeakSet<Socket>()

  const passOn = (socket: Socket): void => {
    awaited.delete(socket)
    // The end has gone by: the next reader would wait for it.
    if (socket.readableEnded) socket.destroy()
    if (!socket.destroyed) onConnection(socket)
  }

  /** Reads the header, and not a byte more than it has. */
  const readHeader = (socket: Socket, sender: string): void => {
    let received: Buffer = Buffer.alloc(0)
    const stop = (): void => {
      timer.clear()
      awaited.delete(socket)
      socket.off('readable', onReadable).off('close', stop)
    }
    const fail = (failure: GatewayError): void => {
      stop()
      onFailure(sender, failure)
      socket.destroy()
    }
    const onReadable = (): void => {
      const chunk: Buffer | null = socket.read()
      if (chunk === null) {
        // A load balancer that only looks whether the port is open says nothing, and there is nothing to say of it.
        if (received.length === 0) return void socket.destroy()
        return fail(createHeaderFlaw('the connection ended within the header'))
      }
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const header = parseProxyHeader(received)
      if (header === null) return
      if (header instanceof GatewayError) return fail(header)
      stop()
      setProxyHeader(socket, header)
      const rest = received.subarray(header.length)
      if (rest.length > 0) socket.unshift(rest)
      const { address } = header
      if (countElsewhere === undefined || !isLimited || address === null)
        // In a turn of its own: only then has the stream forgotten that it was read by `readable`.
        return process.nextTick(() => passOn(socket))
      awaited.add(socket)
      void countElsewhere(socket, address).then((isAdmitted) => (isAdmitted ? passOn(socket) : socket.destroy()))
    }
    const timer = new CoalescedTimer(() =>
      fail(new GatewayError('request-timeout', { reason: 'proxy-header-too-slow' })),
    )
    timer.set(timeoutMs)
    socket.on('error', ignore) // there is no other listener yet
    socket.once('close', stop)
    socket.on('readable', onReadable)
  }

  return {
    accept(socket) {
      // Reset already, as HAProxy ends its checks: its address is not known any more.
      if (socket.remoteAddress === undefined) return void socket.destroy()
      const sender = normalizeAddress(socket.remoteAddress)
      if (!isSender(sender)) return onConnection(socket)
      awaited.add(socket)
      onAwaited(socket)
      readHeader(socket, sender)
    },
    applyConfig(next) {
      isSender = compileSenders(next)
      timeoutMs = next.timeouts.headers
      isLimited = next.maxConnectionsPerAddress !== null
    },
    isAwaited: (socket) => awaited.has(socket),
  }
}

// Stays with the connection: one that were made there would keep what was read of it.
const ignore = (): void => {}

const compileSenders = ({ proxyProtocol }: ListenConfig) => cidrMatcher(proxyProtocol?.from ?? [])
