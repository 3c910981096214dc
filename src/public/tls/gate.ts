import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Alarm } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Log } from '../../observe/log.ts'
import { plain } from '../peer.ts'
import { failureLog } from './failures.ts'
import { type Handshakes, handshakes } from './handshakes.ts'

/** Stands between a connection that was accepted and whoever speaks HTTP on it. */
export interface Gate {
  /** Takes a connection of which nothing has been read. */
  take(socket: Socket): void
  /** Takes over a new configuration: it holds for whoever connects from now on. */
  renew(listen: ListenConfig): void
}

export interface GateOptions {
  readonly listen: ListenConfig
  readonly log: Log
  readonly ticketSecret: string
  /** What is spoken behind it, best first, as ALPN names it. */
  readonly protocols: readonly string[]
  /** Hears of a client that has come through, on what its connection has become. */
  secured(socket: TLSSocket, raw: Socket): void
  /** Takes the connection of a client that does not speak TLS, with the first that it said. */
  unsecured(socket: Socket, first: Buffer): void
}

/** Opens the gate of a listener; null: it does without TLS. */
export const openGate = ({ listen, log, ticketSecret, protocols, secured, unsecured }: GateOptions): Gate | null => {
  if (listen.tls === null) return null
  const tell = failureLog(log)
  const arrived = new WeakMap<Socket, { readonly client: string; readonly alarm: Alarm }>()
  const leave = (raw: Socket): string => {
    const record = arrived.get(raw)
    record?.alarm.clear()
    return record?.client ?? ''
  }
  const prepare = (tls: NonNullable<ListenConfig['tls']>): Handshakes =>
    handshakes({
      tls,
      protocols,
      ticketSecret,
      done(socket, raw) {
        leave(raw)
        secured(socket, raw)
      },
      failed: (raw, reason) => tell(leave(raw), reason),
    })
  let current = prepare(listen.tls)
  let said = JSON.stringify(listen.tls)
  let timeoutMs = listen.headersTimeoutMs

  return {
    take(socket) {
      const client = plain(socket.remoteAddress ?? '')
      // From the first moment to the last of the handshake, and then once more for a head.
      const alarm = new Alarm(() => {
        tell(client, 'timeout')
        socket.destroy()
      })
      alarm.set(timeoutMs)
      arrived.set(socket, { client, alarm })
      socket.on('error', () => {}) // one that is not told by what stands on it: there may be nothing yet
      socket.once('close', () => alarm.clear())
      // At the first bytes and not at once: the answer to whoever speaks plain HTTP goes out by the socket as it is.
      socket.once('readable', () => {
        const first: Buffer | null = socket.read()
        if (first === null) return void socket.destroy()
        if (!isText(first)) {
          socket.unshift(first)
          return current.begin(socket)
        }
        alarm.clear()
        unsecured(socket, first)
      })
    },
    renew({ tls, headersTimeoutMs }) {
      timeoutMs = headersTimeoutMs
      const next = JSON.stringify(tls)
      if (tls === null || next === said) return
      current = prepare(tls)
      said = next
    },
  }
}

/** Tells whether what was said first is not TLS: a record begins with its type, 22, and a greeting of SSLv2 with its length, 128 or more. */
const isText = ([byte = 0]: Buffer): boolean => (byte >= 32 && byte < 127) || byte === 13 || byte === 10
