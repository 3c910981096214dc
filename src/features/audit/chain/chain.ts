import { createHash, createHmac, createSecretKey, type Hash, type KeyObject, randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

export interface ChainPosition {
  /** The name of the chain: a stream may hold two. */
  readonly chain: string
  readonly count: number
  readonly mac: string
}

export interface AuditKey {
  /** Reveals nothing of the secret. */
  readonly id: string
  readonly secret: KeyObject
}

/** Not verified. `sealed`: the text before the HMAC. */
export type ParsedAuditLine = NonNullable<ReturnType<typeof parseAuditLine>>

const macLength = 64
const beforeMac = ',"mac":"'
const afterMac = '"}'
const tailLength = beforeMac.length + macLength + afterMac.length

export const genesis = () => ({ chain: randomBytes(8).toString('hex'), count: 0, mac: '0'.repeat(macLength) })

export const toAuditKey = (text: string): AuditKey => {
  const secret = createSecretKey(Buffer.from(text, 'utf8'))
  return { id: createHmac('sha256', secret).update('lender-gateway audit key').digest('hex').slice(0, 16), secret }
}

/** HMAC over the previous HMAC and the line before its own. */
export const seal = (key: AuditKey, before: ChainPosition, content: string) => {
  const count = before.count + 1
  const sealed = nextLinePrefix(before) + content
  const mac = computeMac(key, before.mac, sealed)
  return { line: `${sealed}${beforeMac}${mac}${afterMac}\n`, link: { chain: before.chain, count, mac } }
}

/** No line of the main log begins so. */
export const linePrefix = '{"audit":"'

export const nextLinePrefix = ({ chain, count }: ChainPosition): string => `${linePrefix}${chain}","seq":${count + 1},`

const couldStartWith = (piece: Buffer, prefix: string): boolean =>
  prefix.startsWith(piece.toString('latin1', 0, prefix.length))

export const parseAuditLine = (line: Buffer) => {
  const at = line.length - tailLength
  if (at <= 0) return null
  const [, mac] = tail.exec(line.toString('latin1', at)) ?? []
  const [, chain, number] = head.exec(line.toString('latin1', 0, Math.min(at, 64))) ?? []
  if (mac === undefined || chain === undefined || number === undefined) return null
  return { chain, number: Number(number), mac, sealed: line.subarray(0, at) }
}

const tail = /^,"mac":"([0-9a-f]{64})"\}$/
const head = /^\{"audit":"([0-9a-f]{16})","seq":([1-9]\d{0,14}),/

export const computeMac = ({ secret }: AuditKey, before: string, sealed: string | Buffer): string =>
  createHmac('sha256', secret).update(before).update(sealed).digest('hex')

export type ChainFields = NonNullable<ReturnType<typeof parseChainFields>>

/** A part of a line, left by a crash or a full disk. `bytes`: without line feed. */
export interface TornLine {
  readonly bytes: number
  readonly sha256: string
}

/** Null: not JSON, so not sealed by a gateway. */
export const parseChainFields = ({ sealed }: ParsedAuditLine) => {
  try {
    const { event, previous, key, next, torn } = Object(JSON.parse(`${sealed.toString('utf8')}}`))
    const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
    return {
      event: text(event) ?? '',
      /** In the first line of a file: the HMAC before it. */
      previous: text(previous),
      key: text(key),
      next: text(next),
      torn: typeof torn === 'object' && torn !== null ? (torn as TornLine) : null,
    }
  } catch {
    return null
  }
}

// Far longer than any line.
const windowBytes = 256 * 1024

/**
 * Throws if the file has no line, or its last line has another key: only the key's holder may continue a chain. `link`
 * null: a crash tore the first line. `isEnded` false: the next append begins with a line feed.
 */
export const readTail = async (file: FileHandle, size: number, key: AuditKey) => {
  const from = Math.max(0, size - windowBytes)
  const window = Buffer.alloc(size - from)
  const { bytesRead } = await file.read(window, 0, window.length, from)
  const lines = await Array.fromAsync(splitLines([window.subarray(0, bytesRead)]))
  const parsed = lines.map(({ bytes }) => parseAuditLine(bytes))
  const last = parsed.findLastIndex((line) => line !== null)
  const found = parsed[last] ?? null
  if (found === null) {
    if (from > 0 || !lines.every(({ bytes }) => couldStartWith(bytes, linePrefix)))
      throw new Error('it holds something else than an audit log')
    return { link: null, torn: joinPieces(lines.map(({ bytes }) => bytes)), isEnded: lines.at(-1)?.isEnded ?? true }
  }
  checkSeal(found, parsed[last - 1] ?? null, key)
  const behind = lines.slice(last + 1)
  const torn = behind.length === 0 ? null : joinPieces(behind.map(({ bytes }) => bytes))
  const { chain, number: count, mac } = found
  return { link: { chain, count, mac }, torn, isEnded: lines.at(-1)?.isEnded ?? true }
}

const newline = Buffer.from('\n')

// Far longer than any line; longer ones are verified in pieces, to bound memory.
const maxLineBytes = 1024 * 1024

/** Without line feeds. `isEnded`: a line feed followed. */
export async function* splitLines(chunks: AsyncIterable<Buffer> | Iterable<Buffer>) {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      yield { bytes: bytes.subarray(start, end), isEnded: true }
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length <= maxLineBytes) continue
    yield { bytes: rest, isEnded: false }
    rest = Buffer.alloc(0)
  }
  if (rest.length > 0) yield { bytes: rest, isEnded: false }
}

/** In a file, a line feed follows each piece before the next write. */
export const joinPieces = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat(pieces.flatMap((piece, at) => (at === 0 ? [piece] : [newline, piece])))

const checkSeal = (last: ParsedAuditLine, before: ParsedAuditLine | null, key: AuditKey): void => {
  const fields = parseChainFields(last)
  // A `key` line has the old key, and names the next.
  if (fields?.event === 'key' && fields.next === key.id) return
  const previous = fields?.previous ?? before?.mac
  if (previous !== undefined && computeMac(key, previous, last.sealed) === last.mac) return
  throw new Error(
    `its last line, number ${last.number}, was not sealed with audit.key, or was edited: start with the key that it was sealed with, and change that by a reload; or move the file away`,
  )
}

export interface AuditLinePosition {
  readonly file: string
  readonly line: number
}

export interface PieceDigest {
  readonly place: AuditLinePosition
  /** Digested once. */
  readonly hash: Hash
  /** Without the last line feed; -1: empty. */
  bytes: number
}

const emptyDigest = (place: AuditLinePosition): PieceDigest => ({ place, hash: createHash('sha256'), bytes: -1 })

/** `earlier`: pieces at the end of earlier files. */
export interface TornPieces {
  readonly earlier: TornPieces | null
  readonly own: PieceDigest
  readonly joined: PieceDigest
  readonly first: Buffer
  count: number
  isEnded: boolean
}

export const createTornPieces = (place: AuditLinePosition, first: Buffer, earlier: TornPieces | null): TornPieces => ({
  ...{ earlier, first, count: 0, isEnded: false, own: emptyDigest(place) },
  joined: earlier === null ? emptyDigest(place) : { ...earlier.joined, hash: earlier.joined.hash.copy() },
})

export const addTornPiece = (torn: TornPieces, bytes: Buffer, isEnded: boolean): void => {
  for (const digest of [torn.own, torn.joined]) {
    if (digest.bytes >= 0) digest.hash.update('\n')
    digest.hash.update(bytes)
    digest.bytes += bytes.length + 1
  }
  torn.count++
  torn.isEnded = isEnded
}

/** A piece with a complete HMAC is a whole line whose end was edited. */
export const mayBegin = ({ earlier, isEnded, count, first }: TornPieces, due: string): boolean => {
  if (earlier !== null || isEnded || count > 1) return false
  return !/,"mac":"[0-9a-f]{64}"/.test(first.toString('latin1')) && couldStartWith(first, due)
}
