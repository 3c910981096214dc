/** Recorded frames of real clients (recordings.json), with changes that a seed draws. */
import { readFileSync } from 'node:fs'
import { frameTypes } from '../../../../src/core/downstream/http2/frame.ts'
import { HpackDecoder } from '../../../../src/core/downstream/http2/hpack/decoder.ts'
import type { HpackField } from '../../../../src/core/downstream/http2/hpack/field.ts'
import { random } from '../../../core/upstream/http1/fuzz/mutate.ts'
import {
  contentOf,
  type Draw,
  type Frame,
  type FuzzFrame,
  one,
  padded,
  prioritized,
  renderFrames,
  splitFrames,
} from './frames.ts'

export interface Sequence {
  readonly frames: readonly FuzzFrame[]
  /** The number of frames in a piece, which may be cut further. */
  readonly atOnce: number
  readonly seed: number
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const empty = Buffer.alloc(0)
const join = (parts: readonly Buffer[]): Buffer => Buffer.concat(parts)
const repeat = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each)
const u32 = (value: number): Buffer => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])

const readRecording = (encoded: string): FuzzFrame[] => {
  const decoder = new HpackDecoder()
  const toFuzzFrame = (frame: Frame): FuzzFrame => {
    const { type, flags, payload: whole } = frame
    const [isPadded, payload, found] = [type <= 1 && (flags & padded) !== 0, contentOf(frame), [] as HpackField[]]
    if (type !== 1) return { ...frame, flags: type === 0 ? flags & 1 : flags, payload, seed: 0 }
    decoder.decode(payload, 0, payload.length, found, 2 ** 20)
    const fields = found.flatMap(({ name, value }) => [name, value])
    const priority = (flags & prioritized) === 0 ? undefined : whole.subarray(Number(isPadded)).subarray(0, 5)
    return { ...frame, flags: flags & 5, payload, fields, priority, padding: isPadded ? whole[0] : undefined, seed: 0 }
  }
  return splitFrames(Buffer.from(encoded, 'base64').subarray(preface.length)).frames.map(toFuzzFrame)
}
/** By client with its version: the bytes of one connection. */
const recorded: Record<string, string> = JSON.parse(readFileSync(new URL('recordings.json', import.meta.url), 'utf8'))
const recordings = Object.values(recorded).map(readRecording)

const paths = ' / * a //a /\x80 /# http://a/b /slow /early /large /fields /204 /304 /interim /cut /?a=b /late'.split(
  ' ',
)
const pairs =
  `x-a=b|X-A=b|x a=b|=b|:path=/a b|x-a= b|x-a=b |x-a=\t|x-a=\0|x-a=a\r\nb|x-a=a\x7fb|x-a=caf\xe9|x-a=|x-\xe9=a|x_a=b|
x-a\0=b|connection=close|te=trailers|te=gzip|te=|transfer-encoding=chunked|upgrade=h2c|keep-alive=1|proxy-connection=a|
host=127.0.0.1|host=other|host=|host=a@b|host= a|cookie=e=f|cookie=|cookie= |expect=100-continue|priority=u=1|
content-length=0|content-length=1|content-length=2|content-length=x|content-length=+1|content-length=|content-length=02|
content-length=1, 1|content-length=99999999999999999999|content-length=-1|content-length= 2|:status=200|:unknown=a|:=a|
:protocol=websocket|:authority=a|:authority=|:authority=a@b|:authority= a|:authority=a b|:scheme=http|:scheme=HTTPS|
:scheme=|:scheme=a b|:scheme=1|:scheme=a+b|:method=HEAD|:method=POST|:method=OPTIONS|:method=get|:method=CONNECT|
:method=|:method=A B|:method=GE\x80|:method=PUT|:method=X`
    .split(/\|\n?/)
    .map((pair) => pair.split(/=(.*)/s, 2) as [string, string])

const changeFields = (draw: Draw, fields: readonly string[]): string[] => {
  const [changed, kind, at] = [[...fields], draw(9), 2 * draw(fields.length / 2 + 1)]
  const [name, value] = kind < 2 ? [':path', one(draw, paths)] : one(draw, pairs)
  const there = fields.indexOf(name)
  if (kind === 8) changed.splice(at, 2)
  else if (kind === 7) changed.splice(at, 0, ...fields.slice(at, at + 2))
  else if (kind === 6) changed.push(...changed.splice(at, 2))
  else if (kind === 5) changed.splice(at, 0, 'x-long', `${draw(3)}`.repeat(one(draw, [100, 1000, 3000])))
  else if (there >= 0 && there % 2 === 0 && (kind < 2 || draw(3) > 0)) changed[there + 1] = value
  else if (kind >= 2) changed.splice(draw(3) === 0 ? at : fields.length, 0, name, value)
  return changed
}

const oddBytes = [0, 1, 0x1f, 0x20, 0x3f, 0x40, 0x7f, 0x80, 0xff]
const changeBytes = (draw: Draw, bytes: Buffer): Buffer => {
  const at = draw(bytes.length + 1)
  const by = Array.from({ length: draw(3) }, () => one(draw, [...oddBytes, draw(256)]))
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(by), bytes.subarray(at + draw(3))])
}

const numbers = [
  0,
  1,
  2,
  100,
  4096,
  2 ** 14 - 1,
  2 ** 14,
  2 ** 16 - 1,
  2 ** 24 - 1,
  2 ** 24,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
]
const setting = (draw: Draw): Buffer =>
  join([Buffer.from([0, one(draw, [1, 1, 2, 3, 4, 4, 5, 6, 8, 9])]), u32(one(draw, numbers))])

/** Returns one of `usual`, rarely of `odd`. */
const mostly = <T>(draw: Draw, usual: T, odd: T): T => (draw(15) === 0 ? odd : usual)

const { data, priority, rstStream, settings, pushPromise, ping, goAway, windowUpdate, continuation } = frameTypes
const windows = [0, 1, 1, 10, 1000, 2 ** 16, 2 ** 30, 2 ** 31 - 1]
type Made = readonly [type: number, payload: Buffer, id: number, flags?: number]
const frameMakers: readonly ((draw: Draw, id: number) => Made)[] = [
  (draw, id) => [ping, Buffer.alloc(mostly(draw, 8, draw(10)), draw(256)), mostly(draw, 0, id), mostly(draw, 0, 1)],
  (draw, id) => [settings, join([setting(draw), setting(draw)].slice(draw(2))), mostly(draw, 0, id)],
  (draw, id) => [settings, mostly(draw, empty, u32(0)), mostly(draw, 0, id), 1],
  (draw, id) => [windowUpdate, mostly(draw, u32(one(draw, windows)), empty), one(draw, [0, id])],
  (draw, id) => [windowUpdate, u32(one(draw, [1, 1, 10, 1000, 1000, 2 ** 16])), one(draw, [0, id])],
  (draw, id) => [rstStream, mostly(draw, u32(one(draw, [0, 1, 2, 7, 8, 255])), empty), id],
  (draw, id) => [priority, join([u32(one(draw, [0, 0, id, 1, 3])), Buffer.alloc(mostly(draw, 1, 0))]), id],
  (draw, id) => [one(draw, [10, 11, 12, 16, 255]), Buffer.alloc(draw(9)), one(draw, [0, id]), draw(256)],
  (draw, id) => [goAway, join([u32(draw(4)), u32(draw(3)), Buffer.alloc(draw(2))]), mostly(draw, 0, id)],
  (draw, id) => [one(draw, [continuation, pushPromise]), Buffer.from([0x82]), id, one(draw, [0, 4])],
  ...repeat<(draw: Draw, id: number) => Made>(2, (draw, id) => [
    data,
    Buffer.alloc(one(draw, [0, 1, 2, 100])),
    id,
    draw(2),
  ]),
]

const lastIdOf = (frames: readonly FuzzFrame[]): number => Math.max(...frames.map(({ id }) => id))
type Change = (draw: Draw, frame: FuzzFrame, frames: readonly FuzzFrame[]) => Partial<FuzzFrame>
const changes: readonly Change[] = [
  (draw) => (draw(3) > 0 ? {} : { type: draw(12) }),
  (draw) => ({ turned: one(draw, [1, 1, 1, 4, 8, 32, 2, 64, draw(256)]) }),
  (draw, { id }, frames) => ({
    id: one(draw, [0, 1, 2, 3, 5, one(draw, frames).id, lastIdOf(frames) + 2, 2 ** 31 + id]),
  }),
  (draw) => (draw(3) > 0 ? {} : { lengthOff: one(draw, [1, -1, 4, -4, 16_384, draw(30)]) }),
  (draw, { payload, fields }) => ({ payload: changeBytes(draw, payload), fields: draw(2) === 0 ? undefined : fields }),
  (draw, { type }) => (type > 1 ? {} : { padding: draw(256), paddingOff: draw(6) === 0 ? draw(256) : 0 }),
  (draw, { type }) => (type === 1 ? { continuations: 1 + draw(3) } : {}),
  (draw, { type, id }) => (type === 1 ? { priority: join([u32(one(draw, [0, 1, 3, id])), Buffer.alloc(1)]) } : {}),
  ...repeat<Change>(4, (draw, { fields }) => (fields ? { fields: changeFields(draw, fields) } : {})),
]

type Mutation = (draw: Draw, frames: FuzzFrame[], at: number) => unknown
const changeFrame: Mutation = (draw, frames, at) => {
  const frame = frames[at] as FuzzFrame
  frames[at] = { ...frame, ...one(draw, changes)(draw, frame, frames) }
}
const addFrame: Mutation = (draw, frames, at) => {
  const [type, payload, id, flags = 0] = one(draw, frameMakers)(draw, one(draw, frames).id || 1)
  frames.splice(at, 0, { type, payload, id, flags, seed: 0 })
}
/** Those of another connection, on streams of their own. */
const addFrames: Mutation = (draw, frames, at) => {
  const shift = lastIdOf(frames) + (lastIdOf(frames) % 2)
  const others = one(draw, recordings).filter(({ id, type }) => id > 0 || type === settings)
  frames.splice(at, 0, ...others.map((each) => ({ ...each, id: each.id && each.id + shift })))
}
const mutations: readonly Mutation[] = [
  ...repeat(16, changeFrame),
  ...repeat(5, addFrame),
  (_, frames, at) => frames.splice(at, 1),
  (draw, frames, at) => frames.splice(one(draw, [at, draw(frames.length)]), 0, frames[at] as FuzzFrame),
  (draw, frames, at) => frames.splice(draw(frames.length), 0, ...frames.splice(at, 1)),
  addFrames,
]

/** The n-th sequence of a seed is always the same. */
export const createSequence = (seed: number, nth: number): Sequence => {
  const draw = random(Math.imul(seed, 0x9e37_79b1) ^ nth)
  const frames = [...one(draw, recordings)]
  for (let left = one(draw, [0, 1, 1, 2, 2, 3, 4, 6, 9]); left > 0 && frames.length > 0; left--)
    one(draw, mutations)(draw, frames, draw(frames.length))
  // Most of what is said is said in heads.
  const heads = frames.filter(({ fields }) => fields !== undefined)
  for (const head of heads.filter(() => draw(3) === 0))
    frames[frames.indexOf(head)] = { ...head, fields: changeFields(draw, head.fields ?? []) }
  const isAsRecorded = draw(6) === 0
  for (const [at, frame] of frames.entries())
    frames[at] = isAsRecorded ? { ...frame, fields: undefined } : { ...frame, seed: draw(2 ** 31) }
  return { frames, atOnce: one(draw, [1, 1, 1, 1, 2, 3, 5, 1000]), seed: draw(2 ** 31) }
}

/** Renders a sequence in pieces; both codecs finish their work between two pieces. */
export const renderPieces = ({ frames, atOnce, seed }: Sequence): Buffer[] => {
  const draw = random(seed)
  const rendered = [draw(100) === 0 ? changeBytes(draw, preface) : preface, ...renderFrames(frames)]
  const pieces: Buffer[] = []
  while (rendered.length > 0) {
    const bytes = Buffer.concat(rendered.splice(0, atOnce))
    const isInBytes = draw(10) === 0 && bytes.length < 100
    const places = Array.from({ length: draw(3) === 0 ? 2 : 0 }, () => draw(bytes.length + 1)).sort((a, b) => a - b)
    const ends = [...(isInBytes ? bytes.keys() : places), bytes.length]
    pieces.push(...ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end)).filter(({ length }) => length > 0))
  }
  return draw(25) > 0 ? pieces : [...pieces.slice(0, -1), (pieces.at(-1) as Buffer).subarray(0, 1 + draw(20))]
}
