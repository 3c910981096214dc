/** A hand-made response, and what the client that asked may be given of it. All bytes are latin1. */
export interface Poison {
  readonly name: string
  /** The response. The marker of the request takes the place of {@link own}, which is as long. */
  readonly bytes: string
  /** What follows the end of the response: no client may be given a byte of it. */
  readonly stray: string
  /**
   * Where it cannot be read any more. `nowhere`: the client is given it whole. `head`: the client is given 502. `body`:
   * the client is given 502, or a part and the end of its connection. `undecided`: any of these, as RFC 9112 leaves it
   * to the reader.
   */
  readonly breaks: 'nowhere' | 'head' | 'body' | 'undecided'
  /** The status and the body that a client is given, if it is given it whole. */
  readonly status: number
  readonly body: string
  /** Whether the upstream ends the connection behind it. */
  readonly ends: boolean
}

/** Stands for the marker of the request: text that stands in its response and in no other. */
export const own = 'own-00000000'

/** What no client may be given. */
export const unsolicitedMark = 'stray'

const make = (name: string, bytes: string, more: Partial<Poison> = {}): Poison => ({
  ...{ name, bytes, stray: '', breaks: 'nowhere', status: 200, body: own, ends: false },
  ...more,
})

/** A response that is given to the client whole. */
export const sound = make

/** A response that is not given to it: what is wrong stands in its head. */
export const badHead = (name: string, bytes: string): Poison => make(name, bytes, { breaks: 'head' })

/** A response of which the client may be given a part. The connection ends behind it when it is too short. */
export const badBody = (name: string, bytes: string, more: Partial<Poison> = {}): Poison =>
  make(name, bytes, { breaks: 'body', ...more })

/** A response that a reader may accept or reject. */
export const undecided = (name: string, bytes: string, more: Partial<Poison> = {}): Poison =>
  make(name, bytes, { breaks: 'undecided', ...more })

/** Renders a head; `lines` are its fields. */
export const head = (lines: readonly string[], start = 'HTTP/1.1 200 OK'): string =>
  [start, `X-Own: ${own}`, ...lines, '', ''].join('\r\n')

/** A response to no request, which looks like a success. */
export const second = `HTTP/1.1 200 OK\r\nX-Stray: ${unsolicitedMark}\r\nContent-Length: ${unsolicitedMark.length}\r\n\r\n${unsolicitedMark}`
