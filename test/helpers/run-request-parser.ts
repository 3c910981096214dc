import { getRequestLimits, type RequestEvents, RequestParser } from '../../src/core/downstream/http1/request-parser.ts'
import { type FailureReason, GatewayError } from '../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../src/core/exchange/failures/failure-table.ts'

/** What a parser makes of a request. */
export interface ParsedRequestMessage {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly fields: readonly string[]
  /** Null: it comes in chunks. */
  readonly length: number | null
  readonly isPersistent: boolean
  /** latin1. */
  body: string
  /** Whether it has come to its end. */
  complete: boolean
}

/** What a parser makes of the bytes of a connection. */
export interface ParsedConnection {
  readonly requests: ParsedRequestMessage[]
  /** Why it has read no further; null: it rejects nothing. `why` is for the log. */
  rejected: { readonly kind: FailureKind; readonly reason: FailureReason | null; readonly why: string } | null
  /** Whether it stands within a request, and whether within the head. */
  isInRequest: boolean
  isInHead: boolean
}

const usualLimits = getRequestLimits({ maxTarget: 8 * 1024, maxHeaders: 32 * 1024 })

/** Runs the gateway's parser over the bytes of a connection, cut at these places. */
export const runRequestParser = (
  bytes: Buffer,
  cuts: readonly number[] = [],
  limits = usualLimits,
): ParsedConnection => {
  const result: ParsedConnection = { requests: [], rejected: null, isInRequest: false, isInHead: false }
  const parser = new RequestParser(recordRequests(result.requests), () => limits)
  try {
    // The parser moves chunks together where they lie: it gets a copy, with something else in front and behind.
    const buffer = Buffer.alloc(bytes.length + 2 * noise.length, noise)
    for (const [i, to] of [...cuts, bytes.length].entries()) {
      const length = bytes.copy(buffer, noise.length, cuts[i - 1] ?? 0, to)
      parser.read(buffer.subarray(noise.length, noise.length + length))
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const { kind, reason, cause } = error
    result.rejected = { kind, reason, why: cause instanceof Error ? cause.message : '' }
  }
  result.isInRequest = parser.isInRequest
  result.isInHead = parser.isInHead
  return result
}

const noise = '\r\n0\r\n\r\n'

const recordRequests = (requests: ParsedRequestMessage[]): RequestEvents => {
  const current = (): ParsedRequestMessage => {
    const request = requests.at(-1)
    if (request === undefined || request.complete) throw new Error('a body of no request')
    return request
  }
  return {
    head: (message) => {
      if (requests.at(-1)?.complete === false) throw new Error('a request within another')
      requests.push({ ...message, body: '', complete: message.length === 0 })
    },
    body: (piece, from, to) => {
      current().body += piece.toString('latin1', from, to)
    },
    end: () => {
      current().complete = true
    },
  }
}

/** Finds the heads of a connection: where each begins and ends. The last one may be incomplete. */
export const findHeads = (bytes: Buffer, limits = usualLimits): readonly (readonly [from: number, to: number])[] => {
  const heads: [from: number, to: number][] = []
  let at = 0
  let from = 0
  const parser = new RequestParser(
    {
      head: ({ length }) => {
        heads.push([from, at + 1])
        if (length === 0) from = at + 1
      },
      body: () => {},
      end: () => {
        from = at + 1
      },
    },
    () => limits,
  )
  try {
    for (; at < bytes.length; at++) parser.read(Buffer.from([bytes[at] as number]))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
  }
  if (from >= (heads.at(-1)?.[1] ?? 0)) {
    const [head] = /^[\r\n]*.*?(?:\r\n\r\n|$)/s.exec(bytes.toString('latin1', from)) ?? ['']
    heads.push([from, from + head.length])
  }
  return heads
}
