import type { Socket } from 'node:net'
import type { ListenConfig } from '../../core/config/config.ts'
import { setConnectionClaims } from '../../core/downstream/listener/listener-config.ts'
import type { ListenerPart } from '../../core/downstream/listener/listener-part.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { CoalescedTimer } from '../../core/lib/clock.ts'
import { cidrMatcher, normalizeAddress } from '../../core/lib/net/addresses.ts'
import { createHeaderFlaw, parseProxyHeader } from './proxy-header.ts'

/**
 * Only configured load balancers send headers: a client that chooses whether to send one chooses its own address
 * (proxy-protocol.txt §5).
 */
export const createAcceptor: NonNullable<ListenerPart['createAcceptor']> = ({
  listen,
  onConnection,
  onAwaited,
  countElsewhere,
  onFailure,
}) => {
  let config = listen
  let isSender = compileIntroducers(listen)
  const awaited = new WeakSet<Socket>()

  const passOn = (socket: Socket): void => {
    awaited.delete(socket)
    // The end has gone by: the next reader would wait for it.
    if (socket.readableEnded) socket.destroy()
    if (!socket.destroyed) onConnection(socket)
  }

  /** Reads no byte beyond the header. */
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
        // A load balancer that checks whether the port is open sends nothing.
        if (received.length === 0) return void socket.destroy()
        return fail(createHeaderFlaw('the connection ended within the header'))
      }
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const header = parseProxyHeader(received)
      if (header === null) return
      if (header instanceof GatewayError) return fail(header)
      stop()
      const { address, authority, length, origin, secure } = header
      setConnectionClaims(socket, {
        length,
        address,
        isAnonymous: origin === 'unknown',
        authority,
        isSecure: () => origin !== 'local' && (secure ?? config.proxyProtocol?.scheme === 'https'),
      })
      const rest = received.subarray(length)
      if (rest.length > 0) socket.unshift(rest)
      if (countElsewhere === undefined || config.maxConnectionsPerAddress === null || address === null)
        // Only in the next tick has the stream forgotten the `readable` listener.
        return process.nextTick(() => passOn(socket))
      awaited.add(socket)
      void countElsewhere(socket, address).then((isAdmitted) => (isAdmitted ? passOn(socket) : socket.destroy()))
    }
    const timer = new CoalescedTimer(() =>
      fail(new GatewayError('request-timeout', { reason: 'proxy-header-too-slow' })),
    )
    timer.set(config.timeouts.headers)
    socket.on('error', ignore) // no other listener yet
    socket.once('close', stop)
    socket.on('readable', onReadable)
  }

  return {
    accept(socket) {
      if (config.proxyProtocol === null) return onConnection(socket)
      // Already reset, as HAProxy ends its checks: the address is unknown.
      if (socket.remoteAddress === undefined) return void socket.destroy()
      const sender = normalizeAddress(socket.remoteAddress)
      if (!isSender(sender)) return onConnection(socket)
      awaited.add(socket)
      onAwaited(socket)
      readHeader(socket, sender)
    },
    applyConfig(next) {
      config = next
      isSender = compileIntroducers(next)
    },
    isAwaited: (socket) => awaited.has(socket),
  }
}

// A closure created in `readHeader` would keep the header's bytes.
const ignore = (): void => {}

export const compileIntroducers = ({ proxyProtocol }: ListenConfig) => cidrMatcher(proxyProtocol?.from ?? [])

export { detectProtocol } from './proxy-header.ts'
