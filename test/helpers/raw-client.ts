import { connect, type Socket } from 'node:net'

/** A connection on which a test writes bytes of its own choosing. Strings are latin1. */
export interface RawClient {
  readonly socket: Socket
  /** Everything received so far. */
  readonly received: () => string
  send(bytes: string | Buffer): void
  /** Waits until what was received satisfies `enough`; rejects when the connection ends first. */
  until(enough: (received: string) => boolean): Promise<string>
  /** Waits for the end of the connection, however it ends, and returns everything received and how it ended. */
  ended(): Promise<{ readonly received: string; readonly how: 'end' | 'reset' }>
  close(): void
}

/** Connects to a port of the loopback, from the address that is given. */
export const rawClient = async (port: number, localAddress = '127.0.0.1'): Promise<RawClient> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: false })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let text = ''
  let how: 'end' | 'reset' | null = null
  const watchers = new Set<() => void>()
  const look = () => {
    for (const watcher of [...watchers]) watcher()
  }
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    look()
  })
  socket.on('error', () => {
    how = 'reset'
  })
  socket.on('close', () => {
    how ??= 'end'
    look()
  })
  const wait = <T>(ready: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const watcher = () => {
        try {
          const value = ready()
          if (value === undefined) return
          watchers.delete(watcher)
          resolve(value)
        } catch (error) {
          watchers.delete(watcher)
          reject(error)
        }
      }
      watchers.add(watcher)
      watcher()
    })
  return {
    socket,
    received: () => text,
    send: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    until: (enough) =>
      wait(() => {
        if (enough(text)) return text
        if (how !== null) throw new Error(`the connection ended (${how}) after: ${JSON.stringify(text)}`)
        return undefined
      }),
    ended: () => wait(() => (how === null ? undefined : { received: text, how })),
    close: () => void socket.destroy(),
  }
}

/**
 * Sends bytes on a connection of their own and returns what came back until it ended or a whole response had arrived.
 */
export const exchangeRaw = async (port: number, bytes: string | Buffer): Promise<string> => {
  const client = await rawClient(port)
  client.send(bytes)
  const responded = client.until(isWholeResponse).catch(() => client.received())
  const text = await responded
  client.close()
  return text
}

/** Returns whether a text holds at least one whole final response. */
export const isWholeResponse = (text: string): boolean => {
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return false
    const head = rest.slice(0, end)
    const body = rest.slice(end + 4)
    if (/^HTTP\/1\.1 1\d\d/.test(head)) {
      rest = body
      continue
    }
    if (/^HTTP\/1\.1 (?:204|304)/.test(head)) return true
    const length = /^content-length: *(\d+)/im.exec(head)?.[1]
    if (length !== undefined) return body.length >= Number(length)
    return /^transfer-encoding: *chunked/im.test(head) && body.endsWith('0\r\n\r\n')
  }
}

/** Reads the status of the first response; 0 when there is none. */
export const parseStatus = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
