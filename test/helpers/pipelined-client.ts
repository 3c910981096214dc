import { connect, type Socket } from 'node:net'
import { closesConnection, parseResponse, type RawResponse } from './raw-response.ts'

/**
 * One request for a lane: its bytes (latin1), its method, and what shall be done with the response (null: the
 * connection ended instead).
 */
export interface PipelinedRequest {
  readonly bytes: string
  readonly method: string
  readonly onResponse: (response: RawResponse | null) => void
}

/**
 * Sends batches of pipelined requests over one connection, and connects anew when a response was the last of the old
 * one. It waits for the end that such a response promises; a request without a response gets null. Rejects when more
 * comes than was asked for.
 */
export class PipelinedClient {
  readonly #port: number
  #socket: Socket | null = null
  #text = ''
  #look: () => void = () => {}

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a batch in one write and waits until each request gets a response or the connection has ended. */
  async send(batch: readonly PipelinedRequest[]): Promise<void> {
    const socket = this.#socket ?? (await this.#connect())
    await new Promise<void>((resolve, reject) => {
      let at = 0
      let ending = false
      this.#look = () => {
        try {
          while (at < batch.length && !ending) {
            const piece = batch[at] as PipelinedRequest
            const next = this.#text === '' ? null : parseResponse(this.#text, piece.method)
            if (next === null) break
            this.#text = this.#text.slice(next.taken)
            if (next.response.status < 200) continue
            at++
            piece.onResponse(next.response)
            ending = closesConnection(next.response)
          }
        } catch (error) {
          socket.destroy()
          return reject(error)
        }
        if (at === batch.length && !ending) return resolve()
        if (this.#socket !== null) return
        for (const piece of batch.slice(at)) piece.onResponse(null)
        resolve()
      }
      socket.write(batch.map((piece) => piece.bytes).join(''), 'latin1')
    })
    if (this.#text !== '') throw new Error(`more than was asked for: ${JSON.stringify(this.#text)}`)
  }

  close(): void {
    this.#socket?.destroy()
  }

  #connect(): Promise<Socket> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    this.#socket = socket
    this.#text = ''
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      if (this.#socket !== socket) return
      this.#text += text
      this.#look()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#socket = null
      this.#look()
    })
    return new Promise((resolve, reject) => {
      socket.once('connect', () => resolve(socket))
      socket.once('error', reject)
    })
  }
}

/** Shares batches out among lanes. */
export const sendPipelined = async (
  port: number,
  lanes: number,
  batches: readonly (readonly PipelinedRequest[])[],
): Promise<void> => {
  let next = 0
  const run = async (): Promise<void> => {
    const lane = new PipelinedClient(port)
    try {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) await lane.send(batch)
    } finally {
      lane.close()
    }
  }
  await Promise.all(Array.from({ length: lanes }, run))
}
