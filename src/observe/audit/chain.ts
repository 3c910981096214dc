import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** Is where a chain stands: what the next line follows. */
export interface ChainPosition {
  /** Names the chain, so that two in one stream are told apart. */
  readonly chain: string
  /** How many lines it has; the next one has one more as its number. */
  readonly count: number
  /** The HMAC of the last line. */
  readonly mac: string
}

/** Is a key that lines are sealed with. */
export interface AuditKey {
  /** Tells keys apart, and tells nothing of the key. */
  readonly id: string
  readonly secret: KeyObject
}

/** A line as read, before anything of it is believed; `sealed` is all of it but its HMAC. */
export type ParsedAuditLine = NonNullable<ReturnType<typeof parseAuditLine>>

const macLength = 64
const beforeMac = ',"mac":"'
const afterMac = '"}'
const tailLength = beforeMac.length + macLength + afterMac.length

/** Begins a chain. */
export const genesis = (): ChainPosition => ({
  chain: randomBytes(8).toString('hex'),
  count: 0,
  mac: '0'.repeat(macLength),
})

/** Makes a key of the text that a file holds. */
export const toAuditKey = (text: string): AuditKey => {
  const secret = createSecretKey(Buffer.from(text, 'utf8'))
  return { id: createHmac('sha256', secret).update('lender-gateway audit key').digest('hex').slice(0, 16), secret }
}

/** Seals what a line says as the next one of a chain. The HMAC is over the one before, then the bytes of the line up to its own. */
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

/** What every line begins with, and none of the main log. */
export const linePrefix = '{"audit":"'

/** What the next line of a chain begins with. */
export const nextLinePrefix = ({ chain, count }: ChainPosition): string => `${linePrefix}${chain}","seq":${count + 1},`

/** Tells whether a piece can be the beginning of what begins so, however short it is. */
export const couldStartWith = (piece: Buffer, prefix: string): boolean =>
  prefix.startsWith(piece.toString('latin1', 0, prefix.length))

/** Reads a line without its end; null: it has not the form of one. */
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

/** Computes the HMAC that a line must have after another. */
export const computeMac = ({ secret }: AuditKey, before: string, sealed: string | Buffer): string =>
  createHmac('sha256', secret).update(before).update(sealed).digest('hex')

/** What a line says of the chain itself. */
export type ChainFields = NonNullable<ReturnType<typeof parseChainFields>>

/** Is what stands in a file and is no line: a crash or a full disk cut it off. Its bytes are told without a line end. */
export interface TornLine {
  readonly bytes: number
  readonly sha256: string
}

/** Reads what a line says of the chain; null: it is no JSON, so nobody sealed it. */
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
      /** The key of the lines behind it. */
      next: text(next),
      torn: typeof torn === 'object' && torn !== null ? (torn as TornLine) : null,
    }
  } catch {
    return null
  }
}
