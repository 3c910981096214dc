import { MalformedResponseError } from '../../src/core/upstream/classify-error.ts'
import { type ResponseEvents, ResponseParser } from '../../src/core/upstream/http1/response-parser.ts'

/** What a parser makes of a response. */
export interface ParsedResponse {
  readonly interim: (readonly [status: number, fields: readonly string[]])[]
  status: number
  reason: string
  fields: readonly string[]
  /** latin1. */
  body: string
  /** Whether it has come to its end: `closed`, with the connection. */
  ended: 'no' | 'yes' | 'closed'
  reusable: boolean
  keepAliveMs: number | null
  /** The reason word of what it rejected; null: nothing. */
  rejected: string | null
  /** Why, as the log has it. */
  why: string
}

/** Runs the gateway's parser over a response, cut at these places. `ends`: behind it the connection ends. */
export const runResponseParser = (
  bytes: Buffer,
  cuts: readonly number[] = [],
  { ends = true } = {},
): ParsedResponse => {
  const result: ParsedResponse = {
    interim: [],
    status: 0,
    reason: '',
    fields: [],
    body: '',
    ended: 'no',
    reusable: false,
    keepAliveMs: null,
    rejected: null,
    why: '',
  }
  const events: ResponseEvents = {
    interim: (status, fields) => void result.interim.push([status, fields]),
    head: (status, reason, fields) => void Object.assign(result, { status, reason, fields }),
    body: (piece, from, to) => {
      result.body += piece.toString('latin1', from, to)
    },
    end: () => {
      result.ended = 'yes'
      result.reusable = parser.isReusable
      result.keepAliveMs = parser.keepAliveMs
    },
  }
  const parser = new ResponseParser(events)
  parser.awaitResponse()
  try {
    // One buffer for all that comes, as a connection has; what is left in it from before must not be read.
    const buffer = Buffer.alloc(bytes.length + 16, '\r\n')
    for (const [from, to] of pieces(bytes.length, cuts)) {
      bytes.copy(buffer, 0, from, to)
      if (result.ended === 'no') parser.read(buffer, to - from)
      else if (to > from) result.reusable &&= isTaken(parser, buffer, to - from)
    }
    if (ends && result.ended === 'no' && parser.finish()) result.ended = 'closed'
  } catch (error) {
    if (!(error instanceof MalformedResponseError)) throw error
    result.rejected = error.reason
    result.why = error.message
  }
  return result
}

const pieces = (length: number, cuts: readonly number[]): [from: number, to: number][] => {
  const ends = [...cuts, length]
  return ends.map((to, i) => [ends[i - 1] ?? 0, to])
}

/** Returns whether bytes that no request has asked for are taken; they close the connection if not. */
const isTaken = (parser: ResponseParser, buffer: Buffer, length: number): boolean => {
  try {
    parser.read(buffer, length)
    return true
  } catch {
    return false
  }
}
