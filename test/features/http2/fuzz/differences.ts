/**
 * Allowed differences between the two codecs: a row each, with reason and condition. Any other difference is an error.
 */
import { isDeepStrictEqual } from 'node:util'
import { initialWindow } from '../../../../src/core/downstream/http2/frame.ts'
import { HpackDecoder } from '../../../../src/core/downstream/http2/hpack/decoder.ts'
import { fieldKinds, type HpackField } from '../../../../src/core/downstream/http2/hpack/field.ts'
import { contentOf, endHeaders, type Frame, splitFrames } from './frames.ts'
import { maxListSize, type Peer, type SeenRequest, type SeenResponse } from './peers.ts'

interface Side {
  readonly peer: Peer
  readonly request?: SeenRequest | undefined
  readonly response?: SeenResponse | undefined
}

export interface Difference {
  readonly kind: 'end' | 'stream' | 'replies'
  /** Of the stream; 0: the connection. */
  readonly id: number
  readonly own: Side
  readonly node: Side
}

/** What has been sent until something differs. */
interface Sent {
  readonly frames: readonly Frame[]
  /** The stream whose frame or field block has not ended; null: none. */
  readonly openId: number | null
}

export const readSent = (bytes: Buffer): Sent => {
  const { frames, rest, begun } = splitFrames(bytes.subarray('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length))
  const last = frames.at(-1)
  const isBlockOpen = (last?.type === 1 || last?.type === 9) && (last.flags & endHeaders) === 0
  const openId = begun?.id ?? (isBlockOpen ? last.id : rest.length > 0 ? 0 : null)
  return { frames: begun === null ? frames : [...frames, begun], openId }
}

interface Row {
  readonly what: string
  explains(difference: Difference, sent: Sent): boolean
}

const carries = ({ type }: Frame): boolean => type <= 1
const dependsOnItself = ({ type, id, payload }: Frame): boolean =>
  type === 2 && payload.length >= 4 && (payload.readUInt32BE() & 0x7f_ff_ff_ff) === id
const isResetBefore = ({ id }: Frame, at: number, all: readonly Frame[]): boolean =>
  all.slice(0, at).some((each) => each.type === 3 && each.id === id)
const isBelow = (frame: Frame, at: number, all: readonly Frame[]): boolean =>
  carries(frame) && all.slice(0, at).some(({ type, id }) => type === 1 && id > frame.id)
const resets = ({ peer }: Side): (number | null)[] => [...peer.responses.values()].map(({ reset }) => reset)
const hasEnded = ({ peer }: Side, { id }: Frame): boolean => peer.responses.get(id)?.hasEnded === true

/** The conditions in the last column, by name: about the sent frames, and the streams of both codecs. */
const checks: Readonly<Record<string, (frames: readonly Frame[], own: Side, node: Side) => boolean>> = {
  '': () => true,
  'below another': (frames) => frames.some(isBelow),
  'stream ended': (frames, own) => frames.some((each) => carries(each) && hasEnded(own, each)),
  'stream closed': (frames) => frames.some((each, at, all) => carries(each) && isResetBefore(each, at, all)),
  'stream reset': (_, own) => resets(own).some((code) => code !== null),
  'Node reset': (_, __, node) => resets(node).some((code) => code !== null),
  'stream reset 1': (_, own) => resets(own).includes(1),
  CONTINUATION: (frames) => frames.some(({ type }) => type === 9),
  GOAWAY: (frames) => frames.some(({ type }) => type === 7),
  acknowledged: (frames) => frames.some(({ type, flags }) => type === 6 && (flags & 1) === 1),
  'of itself': (frames) => frames.some(dependsOnItself),
  'on stream 0': (frames) => frames.some(({ type, id }) => type === 2 && id === 0),
  'wrong length': (frames) => frames.some(({ type, payload }) => type === 2 && payload.length !== 5),
  several: (frames) => frames.some(({ type, payload }) => type === 4 && payload.length > 6),
}

/**
 * How connections end: code and reason of the gateway's codec, and of Node's; the RFC; further conditions. `-`: goes
 * on, or ends for another reason.
 */
const ends = `
1 a stream below an earlier one | - | 9113 §5.1.1 | below another
5 a frame on a closed stream | - | 9113 §5.1 | stream ended
1 padding longer than its frame | - | 9113 §6.1; Node does not look at it on a closed stream | stream ended, stream closed, stream reset, Node reset, below another
11 a field block that is too large | - | 9113 §10.5.1; Node decodes it as it comes | CONTINUATION
9 a third table size update in a block | - | 7541 §4.2: two at most |
[16] a malformed PRIORITY | - | 7540 §5.3.1; 9113 §5.3.2: nghttp2 reads none | of itself, wrong length
1 PRIORITY on stream 0 | - | 9113 §6.3; §5.3.2: nghttp2 reads none | on stream 0
3 INITIAL_WINDOW_SIZE too large | - | 9113 §6.5.3: each value counts, for nghttp2 the last | several
1 ENABLE_PUSH above 1 | - | 9113 §6.5.3: each value counts, for nghttp2 the last | several
1 MAX_FRAME_SIZE out of its range | - | 9113 §6.5.3: each value counts, for nghttp2 the last | several
- | 0 | 9113 §6.8: behind GOAWAY of the client it is the client that closes | GOAWAY
- | 2 | 9113 §6.7: PING that acknowledges none is no error | acknowledged
- | 2 | 9113 §8.1.1: a body above its length is an error of the stream | stream reset 1
- | 6 | 9113 §6.3: PRIORITY of a wrong length is an error of the stream, and of a closed one none | wrong length
- | 11 SETTINGS: too many setting entries | 9113 §6.5 has no limit |
- | 1 SETTINGS: unexpected ACK | 9113 §6.5.3 names no error |
- | 1 GOAWAY: invalid last_stream_id | 9113 §6.8 names no error | GOAWAY
- | 1 SETTINGS: .*SETTINGS_(NO_RFC7540_PRIORITIES|ENABLE_CONNECT_PROTOCOL).* | 9113 §6.5.2: unknown ones are ignored |
- | 5 (DATA: stream in half-closed.*|HEADERS: stream closed) | 9113 §5.1: an error of the stream | stream reset
- | 1 request HEADERS: depend on itself | 7540 §5.3.1: an error of the stream | stream reset 1
- | 1 WINDOW_UPDATE: window_size_increment == 0 | 9113 §6.9: an error of the stream | stream reset 1
- | 3 WINDOW_UPDATE: window size overflow | 9113 §6.9.1: an error of the stream | stream reset
1 (PUSH_PROMISE|SETTINGS|GOAWAY|PING|PRIORITY|HEADERS) (from|on) .* | (6|11 SETTINGS: too many .*) | 9113 §5.4: two errors, and no order |
6 HEADERS too short for their priority | 1 HEADERS: .* padding.* | 9113 §5.4: two errors, and no order |
1 padding longer than its frame | 5 DATA: stream in half-closed.* | 9113 §5.4: two errors, and no order |
9 .* | [15] (request )?HEADERS: .* | 9113 §5.4: two errors; 7541 §2.2: a block is decoded first |
(1 another frame within a field block|6 a frame that is too large) | [159].* | Node has judged the beginning of the block |
1 no preface of HTTP/2 | 2 | 9113 §3.4: PROTOCOL_ERROR |
`

const endOf = ({ peer: { goAway } }: Side): string => (goAway === null ? '-' : `${goAway.code} ${goAway.why}`.trim())

const endRows = ends
  .trim()
  .split('\n')
  .map((what): Row => {
    // A choice in an expression has no blanks around its bar.
    const [ours = '', theirs = '', , asked = ''] = what.split(/ \|(?: |$)/)
    const isLike = (side: Side, text: string): boolean => text === '-' || new RegExp(`^${text}$`).test(endOf(side))
    const explains: Row['explains'] = ({ kind, own, node }, { frames }) =>
      kind === 'end' &&
      isLike(own, ours) &&
      isLike(node, theirs) &&
      asked.split(', ').some((name) => checks[name]?.(frames, own, node))
    return { what, explains }
  })

/** Lists the field blocks of a stream: a head, and trailers. */
const blocksOf = ({ frames }: Sent, id: number): HpackField[][] => {
  const decoder = new HpackDecoder()
  const found: HpackField[][] = []
  const parts: Buffer[] = []
  try {
    for (const frame of frames.filter(({ type }) => type === 1 || type === 9)) {
      parts.push(contentOf(frame))
      if ((frame.flags & endHeaders) === 0) continue
      const [bytes, fields] = [Buffer.concat(parts.splice(0)), [] as HpackField[]]
      decoder.decode(bytes, 0, bytes.length, fields, 2 ** 20)
      if (frame.id === id) found.push(fields)
    }
  } catch {} // what is broken ends the connection
  return found
}

const isReset = ({ response }: Side, code: number | null): boolean => (response?.reset ?? null) === code
const isRejected = ({ request, response }: Side): boolean =>
  (request?.rejected ?? null) !== null && (response?.heads[0]?.[1] ?? '400') === '400'
const isPartial = ({ request }: Side): boolean => request?.isComplete === false
const isMalformedName = ({ name }: HpackField): boolean => !/^:|^[!#$%&'*+.^_`|~0-9a-zA-Z-]+$/.test(name)
const isBadValue = ({ kind }: HpackField): boolean => kind === fieldKinds.badValue
const isHost = ({ name }: HpackField): boolean => name === 'host'
const isBadTrailer = (field: HpackField): boolean =>
  isBadValue(field) || isHost(field) || field.name === 'content-length'
const bodyBytes = ({ peer }: Side): number =>
  [...peer.responses.values()].reduce((sum, { body }) => sum + body.length, 0)
/** Node drops fields, or resets the stream for them. */
const lacks = ({ request, response }: Side, fields: readonly string[]): boolean =>
  request === undefined ? response?.reset === 1 : String(request.fields) === String(fields)

interface OnStream {
  readonly own: Side
  readonly node: Side
  /** Of the stream. */
  readonly frames: readonly Frame[]
  readonly blocks: readonly HpackField[][]
  /** A frame or a field block of the stream has not ended. */
  readonly isOpen: boolean
}

/** What differs on a stream, and when it may. */
const streams: Readonly<Record<string, (on: OnStream) => boolean>> = {
  'a stream that is reset in the piece that opens it: Node does not hand it on, or not as whole': ({
    own,
    node,
    frames,
  }) =>
    !node.request?.isComplete &&
    (own.response?.heads ?? []).length === 0 &&
    (node.response === undefined ? frames.some(({ type }) => type === 3) : isReset(node, own.response?.reset ?? -1)),
  'frames behind a reset of the client; 9113 §5.1: STREAM_CLOSED, and nghttp2 ignores them': ({ own, frames }) =>
    isReset(own, 5) && frames.some((each, at, all) => carries(each) && isResetBefore(each, at, all)),
  'DATA above the length; 9113 §8.1.1: a head of DATA is judged, and nothing of it handed on': ({
    own,
    node,
    isOpen,
  }) => isReset(own, 1) && (isReset(node, 1) || isOpen) && isPartial(own) && isPartial(node),
  'a field block that Node resets before it has ended': ({ own, node, isOpen }) =>
    isOpen && isReset(own, null) && (isReset(node, 1) || isReset(node, 11)),
  'PRIORITY that depends on itself; 7540 §5.3.1; 9113 §5.3.2: nghttp2 reads none': ({ own, frames }) =>
    isReset(own, 1) && frames.some(dependsOnItself),
  'a stream behind GOAWAY of the client; 9113 §6.8: that is of streams of the server': ({ node }) =>
    node.request === undefined && node.response === undefined && node.peer.goAway?.code === 0,
  'a name that is no token; 9113 §8.2.1: malformed, and nghttp2 drops the field': ({ own, blocks }) =>
    isReset(own, 1) && !own.request?.isComplete && blocks.flat().some(isMalformedName),
  'a bad value; decision 087: 400, and nghttp2 drops the field, keeps it, or resets': ({ own, node, blocks }) =>
    isRejected(own) &&
    blocks.flat().some(isBadValue) &&
    (own.request?.rejected === node.request?.rejected || lacks(node, own.request?.fields ?? [])),
  'a bad target, scheme or host; 9113 §8.1.1 allows a response: 400, and nghttp2 resets': ({ own, node }) =>
    isRejected(own) && node.request === undefined && isReset(node, 1),
  'a path that begins with no slash; 9113 §8.3.1: malformed, for nghttp2 not in another scheme': ({ own, node }) =>
    own.request === undefined && isReset(own, 1) && isRejected(node) && !node.request?.url?.startsWith('/'),
  'two hosts; 9113 §8.3.1: malformed, or 400, and nghttp2 drops one that is none': ({ own, node, blocks }) => {
    const fields = own.request?.fields ?? []
    const second = fields.findIndex((name, at) => at > 0 && at % 2 === 0 && name === 'host')
    if (own.request === undefined) return isReset(own, 1) && (blocks[0] ?? []).filter(isHost).length > 1
    return isRejected(own) && second > 0 && lacks(node, fields.toSpliced(second, 2))
  },
  'trailers with a bad value, host or content-length; 9110 §6.5.1: malformed, and Node drops all': ({ own, blocks }) =>
    isReset(own, 1) && isPartial(own) && blocks.slice(1).some((fields) => fields.some(isBadTrailer)),
  'a list that is too large; 9113 §6.5.2: for nghttp2 only once SETTINGS are acknowledged': ({ own, blocks }) =>
    isReset(own, 1) && blocks.some((fields) => fields.reduce((sum, { size }) => sum + size, 0) > maxListSize),
  'bodies that share the window of the connection otherwise; 9113 §5.2.2': ({ own, node }) =>
    isDeepStrictEqual([own.request, own.response?.heads], [node.request, node.response?.heads]) &&
    bodyBytes(own) === bodyBytes(node) &&
    bodyBytes(own) >= initialWindow,
}

const streamRows = Object.entries(streams).map(([what, isRight]): Row => {
  const explains: Row['explains'] = ({ kind, id, own, node }, sent) => {
    const frames = sent.frames.filter((each) => each.id === id)
    return kind === 'stream' && isRight({ own, node, frames, blocks: blocksOf(sent, id), isOpen: sent.openId === id })
  }
  return { what, explains }
})

/**
 * Node judges the beginning of a frame or a field block; the gateway's codec waits for the rest, which does not come.
 */
const early: Row = {
  what: 'Node ends the connection before a frame or a field block has ended',
  explains: ({ kind, own }, { openId }) => kind === 'end' && !own.peer.isOver && openId !== null,
}

export const differences: readonly Row[] = [...endRows, early, ...streamRows]
