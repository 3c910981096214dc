/** What RFC 9113 and RFC 7541 ask of a server, a case a row, as h2spec asks it; and how a server is asked. */
import { block, codeOf, type Frame, type FrameClient, frame, get, head } from './http2.ts'

export const endStream = 1
export const endHeaders = 4
export const padded = 8
export const prioritized = 32
export const ack = 1

/** What is sent; `response`: the whole response to stream 1 is waited for; `head`: its head. */
export type Step = Buffer | 'response' | 'head'

/** How a connection goes on: as if nothing had been; with a response to stream 1; or with an error. */
type Wanted = 'goes on' | 'responds' | { readonly on: 'stream' | 'connection'; readonly codes: readonly number[] }

/** Section, what is sent, and what has to come of it. */
export type Row = readonly [section: string, what: string, steps: readonly Step[], wanted: Wanted]

/** A case in which something else comes of it: what, and why. */
export type Exception = readonly [...row: Row, comes: string, why: string]

/** An error of a stream. RFC 9113 §5.4: it may be treated as one of the connection, and that by its end. */
export const streamError = (...codes: readonly number[]): Wanted => ({ on: 'stream', codes })
export const connectionError = (...codes: readonly number[]): Wanted => ({ on: 'connection', codes })

export const bytes = (...values: readonly number[]): Buffer => Buffer.from(values)
export const u32 = (value: number): Buffer =>
  bytes(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255)

const text: Buffer = Buffer.from('test')
/** Depends on no stream. */
const root: Buffer = bytes(0, 0, 0, 0, 255)

/** The header block of a GET, and a field that fills a hundred bytes. */
export const request = block(...get())
export const dummy = block('x-dummy', 'a'.repeat(100))

export const data = (stream: number, flags = endStream, payload = text): Buffer => frame(0, flags, stream, payload)
export const headers = (stream: number, flags: number, ...blocks: readonly Buffer[]): Buffer =>
  frame(1, flags, stream, Buffer.concat(blocks.length > 0 ? blocks : [request]))
export const priority = (stream: number, payload = root): Buffer => frame(2, 0, stream, payload)
export const reset = (stream: number, payload = u32(8)): Buffer => frame(3, 0, stream, payload)
export const settings = (id: number, value: number): Buffer => frame(4, 0, 0, Buffer.concat([bytes(0, id), u32(value)]))
export const continuation = (stream: number, flags = endHeaders): Buffer => frame(9, flags, stream, dummy)
export const windowUpdate = (stream: number, by: number): Buffer => frame(8, 0, stream, u32(by))
/** The whole of a GET, its block followed by others. */
export const whole = (...more: readonly Buffer[]): Buffer => headers(1, endStream | endHeaders, request, ...more)
/** A POST whose body follows. */
export const post = (...fields: readonly string[]): Buffer =>
  head(1, [...get('/valuation/score', 'POST'), ...fields], false)
/** Keeps the next request open: its response waits for a window. */
export const noResponseYet = settings(4, 0)

const isEnd = ({ type, flags, stream }: Frame): boolean => stream === 1 && type <= 1 && (flags & endStream) === 1

/**
 * Sends what a row says, and returns the outcome: `reset CODE` of each stream, `goaway CODE`, `closed`, `responded`;
 * or nothing.
 */
export const play = async (client: FrameClient, steps: readonly Step[], responses: boolean): Promise<string[]> => {
  for (const step of steps) {
    if (step === 'response') await client.frame(isEnd)
    else if (step === 'head') await client.frame(({ type }) => type === 1)
    else await client.send(step)
  }
  if (responses) await client.frame(isEnd)
  // A PING gets its reply before frames that wait: with the third, whatever there was to say of the steps has come.
  for (let n = 1; n <= 3; n++) {
    await client.send(frame(6, 0, 0, Buffer.alloc(8, n)))
    await client.frame(({ type, flags, payload }) => type === 6 && (flags & ack) === 1 && payload[0] === n)
  }
  const said = client.frames.flatMap((each) => {
    if (each.type === 3) return [`reset ${codeOf(each)}`]
    if (each.type === 7) return [`goaway ${codeOf(each)}`]
    return responses && isEnd(each) ? ['responded'] : []
  })
  return client.socket.destroyed ? [...said, 'closed'] : said
}

/** Returns whether what came is what a row wants. */
export const conforms = (came: readonly string[], wanted: Wanted): boolean => {
  if (wanted === 'goes on') return came.length === 0
  if (wanted === 'responds') return came.join() === 'responded'
  const isOne = (said: string): boolean =>
    wanted.codes.some((code) => said === `goaway ${code}` || (wanted.on === 'stream' && said === `reset ${code}`))
  // What ends with an unread byte is reset, and its GOAWAY may be lost.
  return came.some(isOne) || came.join() === 'closed'
}
