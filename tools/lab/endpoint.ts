import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { OnTestEnd } from '../../test/helpers/editable-file.ts'
import { listenOnReservedPort, tryListen } from '../../test/helpers/reserved-port.ts'
import { type EndpointBehavior, respond, type Turn } from './endpoint-behavior.ts'
import { Ledger, type LedgerEntry } from './ledger.ts'
import { type LabRequestHead, readRequests } from './read-requests.ts'

/** How a server stops: marks the next response as the last (`finish`), or cuts what is idle (`cut`). */
export type ShutdownMode = 'finish' | 'cut'

/** A real server on the loopback whose behavior is changed while it runs. */
export interface LabEndpoint {
  readonly name: string
  readonly port: number
  readonly url: string
  /** Says what it does from the next connection or request on. */
  behave(behavior: EndpointBehavior): void
  /** Closes the listener and every connection: connecting is refused from then on. */
  refuseConnections(): Promise<void>
  /** Listens again, on the same port; `tls` differs from what it was opened with. */
  listen(tls?: TlsOptions): Promise<void>
  /** Stops as a server that is restarted does. Resolves when the last connection is gone. */
  shutDown(how: ShutdownMode): Promise<void>
  /** Connections open now, and accepted in all. */
  connections(): number
  accepted(): number
  /** Requests whose head arrived. */
  requests(): number
  /** Requests that came in on an idle connection just when it was cut, by id. */
  readonly crossed: readonly string[]
  /** When idle connections were cut: a request that was on its way to one just then is not even read. */
  readonly cutAt: readonly number[]
}

interface Options {
  readonly name?: string
  readonly ledger?: Ledger
  readonly behavior?: EndpointBehavior
  readonly tls?: TlsOptions
  /** When it is to be gone; with the test unless. */
  readonly onEnd?: OnTestEnd
}

/** A connection, how many requests have begun on it, and whether one is on it. */
interface Line {
  readonly socket: Socket
  begun: number
  busy: boolean
  /** A connection that is cut when the next request comes. */
  doomed: boolean
}

/** Opens an endpoint that responds with 200 unless its behavior says otherwise. */
export const openEndpoint = async (options: Options = {}): Promise<LabEndpoint> => {
  const { name = 'endpoint', ledger = new Ledger(), onEnd = onTestFinished } = options
  const lines = new Set<Line>()
  const crossed: string[] = []
  const cutAt: number[] = []
  let { behavior = respond() } = options
  let leaving: ShutdownMode | null = null
  let accepted = 0
  let requests = 0
  let server: Server
  let onLastClosed = (): void => {}

  const onRequest = (line: Line, entry: LedgerEntry, head: LabRequestHead, part: 'head' | 'whole'): void => {
    const turn: Turn = {
      socket: line.socket,
      head,
      endpoint: name,
      sha256: () => entry.sha256,
      last: () => leaving !== null,
      done: () => {
        line.busy = false
      },
    }
    if (part === 'head') behavior.onHead?.(turn)
    else behavior.onWhole?.(turn)
  }

  const onConnection = (socket: Socket): void => {
    const line: Line = { socket, begun: 0, busy: false, doomed: false }
    let entry: LedgerEntry
    accepted++
    lines.add(line)
    socket.setNoDelay()
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      lines.delete(line)
      if (lines.size === 0) onLastClosed()
    })
    behavior.onAccept?.(socket)
    readRequests(socket, {
      begins() {
        line.busy = true
        line.begun++
      },
      head(head) {
        requests++
        entry = ledger.record({ id: head.id, method: head.method, endpoint: name, sha256: null })
        if (line.doomed) crossed.push(head.id)
        if (line.doomed || (behavior.cutsIdle === true && line.begun > 1)) return void socket.destroy()
        onRequest(line, entry, head, 'head')
      },
      whole(head, sha256) {
        entry.sha256 = sha256
        onRequest(line, entry, head, 'whole')
      },
    })
  }

  const make = (tls: TlsOptions | undefined): Server => {
    const made = tls === undefined ? createServer({ allowHalfOpen: true }) : createTlsServer(tls)
    made.on('tlsClientError', () => {})
    return made.on(tls === undefined ? 'connection' : 'secureConnection', onConnection)
  }
  const stopListening = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))
  const cutAll = (): void => {
    for (const { socket } of lines) socket.destroy()
  }

  server = make(options.tls)
  const port = await listenOnReservedPort(server)
  onEnd(() => {
    server.close()
    cutAll()
  })
  return {
    name,
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    crossed,
    cutAt,
    connections: () => lines.size,
    accepted: () => accepted,
    requests: () => requests,
    behave(next) {
      behavior = next
    },
    async refuseConnections() {
      const stopped = stopListening()
      cutAll()
      await stopped
    },
    async listen(tls = options.tls) {
      leaving = null
      server = make(tls)
      if (!(await tryListen(server, port))) throw new Error(`another socket has taken port ${port}`)
    },
    async shutDown(how) {
      // After everything that is ready now: a connection that the gateway has seen come about has been accepted then.
      // One that still waits to be is reset by the kernel, which no server can help.
      await new Promise((resolve) => setImmediate(resolve))
      leaving = how
      const lastClosed = new Promise<void>((resolve) => {
        onLastClosed = resolve
      })
      if (lines.size === 0) onLastClosed()
      if (how === 'cut') {
        cutAt.push(performance.now())
        cutIdle(lines)
      }
      await Promise.all([stopListening(), lastClosed])
    },
  }
}

/**
 * Cuts what is idle. In this one process the gateway would notice it before it sent anything more, so every other one
 * is left until the next request is on its way: as over a network, where the two cross. As real servers do, it leaves
 * a connection that awaits its first request.
 */
const cutIdle = (lines: ReadonlySet<Line>): void => {
  let nth = 0
  for (const line of lines) {
    if (line.busy || line.begun === 0) continue
    if (nth++ % 2 === 0) line.doomed = true
    else line.socket.destroy()
  }
}
