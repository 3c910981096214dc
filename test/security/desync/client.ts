import { type RawClient, rawClient } from '../../helpers/raw-client.ts'
import { closesConnection, headerValues, parseResponse, type RawResponse } from '../../helpers/raw-response.ts'
import { parseWireResponse } from '../../helpers/wire.ts'
import { own, type Poison, unsolicitedMark } from './poisons.ts'

let markers = 0

/** Makes a marker for a request. */
export const newMarker = (): string => `own-${String(++markers).padStart(own.length - 4, '0')}`

/** A whole response, or a part and the end of its connection. */
interface Given {
  readonly response: RawResponse | null
  /** Everything that came, interim responses included. */
  readonly bytes: string
}

/** A client that keeps its connection as long as the gateway does. */
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

  /** Sends the rest of a request, if its connection is still open. */
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

/** Takes the final response off the received bytes, with the interim ones before it. */
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

/** The beginning of a streaming POST, and the rest of it. */
export const uploadOf = (marker: string) => ({
  first: `${begin('POST /valuation/score', marker)}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n`,
  rest: '4\r\nlast\r\n0\r\n\r\n',
})

type Verdict = 'whole' | 'rejected' | 'cut'

const allowed: Readonly<Record<Poison['breaks'], readonly Verdict[]>> = {
  ...{ nowhere: ['whole'], head: ['rejected'], body: ['rejected', 'cut'], undecided: ['whole', 'rejected', 'cut'] },
}

/** Names the fault in the client's response, or null. */
export const faultOf = (poison: Poison, marker: string, given: Given): string | null => {
  const body = poison.body.replaceAll(own, marker)
  if (!body.includes(unsolicitedMark) && given.bytes.includes(unsolicitedMark))
    return `a byte of nobody's: ${shown(given)}`
  for (const [found] of given.bytes.matchAll(/own-\d{8}/g))
    if (found !== marker) return `a byte of another's: ${shown(given)}`
  const verdict = verdictOn(poison, marker, body, given)
  return allowed[poison.breaks].some((each) => each === verdict) ? null : `${verdict}: ${shown(given)}`
}

const verdictOn = (poison: Poison, marker: string, body: string, { response, bytes }: Given): Verdict | string => {
  if (response === null) return isPart(bytes, poison, body) ? 'cut' : 'neither whole nor a part'
  if (response.status === 502 && /"code":"(bad-response|reset-before-headers)"/.test(response.body)) return 'rejected'
  const isWhole = response.status === poison.status && response.body === body
  return isWhole && headerValues(response, 'x-own').join() === marker ? 'whole' : 'a mix'
}

const isPart = (bytes: string, { status }: Poison, body: string): boolean => {
  if (bytes === '') return true // a connection that is reset may lose what was written last
  const part = parseWireResponse(Buffer.from(bytes, 'latin1'))
  return part.status === status && !part.whole && body.startsWith(part.body.toString('latin1'))
}

/** Names the fault in a sound response to the request with this marker, or null. */
export const faultOfSound = (marker: string, { response, bytes }: Given): string | null => {
  const isOwn =
    response?.status === 200 &&
    response.body === marker &&
    parseResponse(bytes, 'GET')?.taken === bytes.length &&
    [...bytes.matchAll(/own-\d{8}|stray/g)].every(([found]) => found === marker)
  return isOwn ? null : `not its own: ${shown({ response, bytes })}`
}

const shown = ({ bytes }: Given): string => JSON.stringify(bytes.slice(0, 1000))
