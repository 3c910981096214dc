import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** The end of a chain: what the next line follows. */
export interface ChainPosition {
  /** The name of the chain, which tells two in one stream apart. */
  readonly chain: string
  /** The number of its lines; the next line has one more as its number. */
  readonly count: number
  readonly mac: string
}

export interface AuditKey {
  /** The id that tells keys apart, and reveals nothing of the key. */
  readonly id: string
  readonly secret: KeyObject
}

/** A parsed line, before anything of it is believed; `sealed` is all of it but its HMAC. */
export type ParsedAuditLine = NonNullable<ReturnType<typeof parseAuditLine>>

const macLength = 64
const beforeMac = ',"mac":"'
const afterMac = '"}'
const tailLength = beforeMac.length + macLength + afterMac.length

export const genesis = (): ChainPosition => ({
  chain: randomBytes(8).toString('hex'),
  count: 0,
  mac: '0'.repeat(macLength),
})

export const toAuditKey = (text: string): AuditKey => {
  const secret = createSecretKey(Buffer.from(text, 'utf8'))
  return { id: createHmac('sha256', secret).update('lender-gateway audit key').digest('hex').slice(0, 16), secret }
}

/**
 * Seals content as the next line of a chain. The HMAC is over the one before, then the bytes of the line up to its own.
 */
export const seal = (
  key: AuditKey,
  before: ChainPosition,
  content: string,
): { readonly line: string; readonly link: ChainPosition } => {
  const count = before.count + 1
  const sealed = nextLinePrefix(before) + content
  const mac = computeMac(key, before.mac, sealed)
  return { line: `${sealed}${beforeMac}${mac}${afterMac}\n`, link: { chain: before.chain, count, mac } }
}

/** The beginning of every audit line, and of no line of the main log. */
export const linePrefix = '{"audit":"'

export const nextLinePrefix = ({ chain, count }: ChainPosition): string => `${linePrefix}${chain}","seq":${count + 1},`

/** Checks whether a piece can be the beginning of a text with this prefix, however short it is. */
export const couldStartWith = (piece: Buffer, prefix: string): boolean =>
  prefix.startsWith(piece.toString('latin1', 0, prefix.length))

/** Parses a line given without its end; null: it has not the form of one. */
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

/** What a line says of the chain itself. */
export type ChainFields = NonNullable<ReturnType<typeof parseChainFields>>

/** A torn line: what a crash or a full disk left of one. Its bytes are counted without a line end. */
export interface TornLine {
  readonly bytes: number
  readonly sha256: string
}

/** Parses what a line says of the chain; null: it is no JSON, so no gateway sealed it. */
export const parseChainFields = ({ sealed }: ParsedAuditLine) => {
  try {
    const members: unknown = JSON.parse(`${sealed.toString('utf8')}}`)
    const { event, previous, key, next, torn } = Object(members)
    const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
    return {
      event: text(event) ?? '',
      /** The HMAC before a line that begins a file. */
      previous: text(previous),
      /** The key that it is sealed with. */
      key: text(key),
      /** The key of the lines after it. */
      next: text(next),
      torn: typeof torn === 'object' && torn !== null ? (torn as TornLine) : null,
    }
  } catch {
    return null
  }
}
