import type { ServerSessionOptions } from 'node:http2'
import type { ListenConfig } from '../../config/config.ts'

/** Is how many requests a client may have under way on one connection, as on HTTP/1. */
const maxStreams = 100

/** Is what Node knows and its types do not. */
interface Unknown {
  readonly streamResetBurst: number
  readonly streamResetRate: number
  readonly strictSingleValueFields: boolean
}

/**
 * Tells in what a connection is bounded before it asks for anything: by nghttp2 and Node. What they leave open is bounded in sessions.ts
 * and watch.ts, and what a request may hold in admit.ts.
 */
export const sessionOptions = (
  listen: Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>,
): ServerSessionOptions & Unknown => {
  // Above the bounds that are answered with 431 and 414, so that there is somebody to answer; a list beyond this ends its stream.
  const pairs = 2 * listen.maxHeaderFields + 16
  return {
    settings: {
      maxConcurrentStreams: maxStreams,
      // RFC 9113 §6.5.2: each field counts 32 more than its letters.
      maxHeaderListSize: listen.maxTarget + listen.maxHeaders + 1024 + 32 * pairs,
    },
    maxHeaderListPairs: pairs,
    // Of a head that is larger, Node sends nothing, and ends the connection with all that is under way on it. An upstream's is bounded by its
    // letters, 64 KiB; here each field counts 12 more, and may have a single letter.
    maxSendHeaderBlockLength: 1024 * 1024,
    // Two values of a field that has one pass as they came, as on HTTP/1.
    strictSingleValueFields: false,
    // Rapid reset (CVE-2023-44487): a client may give up on all that it has under way, twice, and then on 33 requests a second.
    streamResetBurst: 2 * maxStreams,
    streamResetRate: 33,
    // Empty frames, and malformed ones, before the connection ends.
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: maxStreams,
    maxSettings: 32,
    maxOutstandingPings: 4, // ours, of which there are none
    maxSessionMemory: 16, // MiB
  }
}
