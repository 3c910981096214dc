import { type RawClient, rawClient } from '../../helpers/raw-client.ts'
import { closesConnection, parseResponse, type RawResponse } from '../../helpers/raw-response.ts'
import { own } from './poisons.ts'

let markers = 0

/** Makes a marker for a request. */
export const newMarker = (): string => `own-${String(++markers).padStart(own.length - 4, '0')}`

/** What a client was given: a whole response, or a part and the end of its connection. */
export interface Given {
  readonly response: RawResponse | null
  /** Everything that came, interim responses included. */
  readonly bytes: string
}

/** A client that keeps its connection for as long as the gateway does. */
export class Client {
  readonly #port: number
  #connection: RawClient | null = null
  #read = 0

  constructor(port: number) {
    this.#port = port
  }

  /** Sends bytes, on a new connection when there is none. */
  async send(bytes: string): Promise<void> {
    this.#connection ??= await rawClient(this.#port)
    this.#connection.send(bytes)
  }

  /** Sends the rest of a request, if its connection is still there. */
  sendMore(bytes: string): void {
    this.#connection?.send(bytes)
  }

  /** Waits for the response, or the end of the connection. */
  async given(): Promise<Given> {
    const connection = this.#connection
    if (connection === null) throw new Error('nothing was sent')
    const taken = (): { response: RawResponse; taken: number } | null => final(connection.received().slice(this.#read))
    const response = await connection.until(() => taken() !== null).then(taken, () => null)
    const bytes = connection.received().slice(this.#read)
    this.#read += bytes.length
    if (response === null || response.taken !== bytes.length || closesConnection(response.response)) this.leave()
    return { response: response?.taken === bytes.length ? response.response : null, bytes }
  }

  /** Cuts the connection. */
  leave(): void {
    this.#connection?.close()
    this.#connection = null
    this.#read = 0
  }
}

/** Takes the final response off what was received, with the interim ones before it. */
const final = (text: string): { response: RawResponse; taken: number } | null => {
  for (let at = 0; ; ) {
    const next = parseResponse(text.slice(at), 'GET')
    if (next === null) return null
    at += next.taken
    if (next.response.status >= 200) return { response: next.response, taken: at }
  }
}

const begin = (method: string, marker: string): string =>
  `${method} HTTP/1.1\r\nHost: gateway.test\r\nX-Marker: ${marker}\r\n`

/** Renders a GET. */
export const getOf = (marker: string): string => `${begin('GET /market/insights', marker)}\r\n`

/** Renders a small POST. */
export const postOf = (marker: string): string => `${begin('POST /valuation/score', marker)}Content-Length: 2\r\n\r\n{}`

/** Renders the beginning of a POST that streams, and the rest of it. */
export const uploadOf = (marker: string) => ({
  first: `${begin('POST /valuation/score', marker)}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n`,
  rest: '4\r\nlast\r\n0\r\n\r\n',
})
