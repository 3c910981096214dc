import {
  type AuditKey,
  type AuditLinePosition,
  addTornPiece,
  type ChainFields,
  type ChainPosition,
  computeMac,
  createTornPieces,
  linePrefix,
  mayBegin,
  nextLinePrefix,
  type ParsedAuditLine,
  type PieceDigest,
  parseAuditLine,
  parseChainFields,
  type TornLine,
  type TornPieces,
} from './chain.ts'

export interface AuditFinding extends AuditLinePosition {
  readonly message: string
}

/** An end of the chain that was recorded earlier: a file that ends before it was cut off. `chain` null: any chain. */
export interface Checkpoint {
  readonly chain: string | null
  readonly count: number
  readonly hash: string
}

// A file of another format has a fault in every line.
const maxFindings = 1000

interface ChainProgress {
  link: ChainPosition
  readonly first: number
  lines: number
  keyId: string | null
  place: AuditLinePosition
}

/**
 * Finds edited, dropped, inserted and moved lines, and by checkpoints a cut-off end. A file may begin in the middle of
 * a chain, since older files may be archived.
 */
export class ChainVerifier {
  readonly findings: AuditFinding[] = []
  readonly notes: AuditFinding[] = []
  omittedFindings = 0
  readonly #keys: readonly AuditKey[]
  /** By count: the log of a year has half a million. */
  readonly #checkpoints: ReadonlyMap<number, readonly Checkpoint[]>
  readonly #isMixed: boolean
  readonly #chains = new Map<string, ChainProgress>()
  readonly #matched = new Set<Checkpoint>()
  /** The first line with that count and another HMAC. The checkpoint may be of another chain. */
  readonly #mismatched = new Map<Checkpoint, AuditFinding>()
  readonly #missingKeys = new Set<string | null>()
  #last: ChainProgress | null = null
  #file: string | null = null
  #torn: TornPieces | null = null

  /** `isMixed`: the lines stand between other lines, and may be of several chains. */
  constructor(keys: readonly AuditKey[], checkpoints: readonly Checkpoint[], isMixed: boolean) {
    this.#keys = keys
    this.#checkpoints = Map.groupBy(checkpoints, ({ count }) => count)
    this.#isMixed = isMixed
  }

  get chains() {
    return [...this.#chains.values()].map(({ first, link, lines }) => ({ first, last: link, lines }))
  }

  /** `bytes`: without the line feed. */
  verifyLine(bytes: Buffer, place: AuditLinePosition, isEnded: boolean): void {
    if (this.#isMixed && !bytes.toString('latin1', 0, linePrefix.length).startsWith(linePrefix)) return
    const read = parseAuditLine(bytes)
    if (read === null) return this.#onMalformedLine(bytes, place, isEnded)
    const fields = parseChainFields(read)
    const known = this.#findChain(read, place)
    this.#checkTorn(fields?.torn ?? null, place, known === null)
    const chain = known ?? this.#beginChain(read, fields, place)
    if (chain === null) return
    this.#last = chain
    this.#checkLine(chain, read, place)
    if (!isEnded) this.#addNote(place, 'the last line has no end: a crash cut it off, or it is just being written')
    if (fields?.event === 'key') chain.keyId = fields.next
  }

  finish(): void {
    this.#acceptTornEnd(this.#torn)
    if (this.#chains.size === 0 && this.findings.length === 0)
      this.#addFinding({ file: '', line: 0 }, 'there is no line of an audit log; expected at least the first')
    for (const checkpoint of [...this.#checkpoints.values()].flat())
      if (!this.#matched.has(checkpoint)) this.#reportUnmatched(checkpoint)
  }

  #addFinding({ file, line }: AuditLinePosition, message: string): void {
    if (this.findings.length < maxFindings) this.findings.push({ file, line, message })
    else this.omittedFindings++
  }

  #addNote({ file, line }: AuditLinePosition, message: string): void {
    if (this.notes.length < maxFindings) this.notes.push({ file, line, message })
  }

  #onMalformedLine(bytes: Buffer, place: AuditLinePosition, isEnded: boolean): void {
    // In a mixed stream, only the next number shows that a line is missing.
    if (this.#isMixed) return this.#addNote(place, 'this is no whole line of an audit log')
    if (this.#torn?.own.place.file !== place.file) this.#torn = createTornPieces(place, bytes, this.#torn)
    addTornPiece(this.#torn, bytes, isEnded)
  }

  /** Accepts a beginning of the chain's next line. */
  #acceptTornEnd(torn: TornPieces | null): void {
    if (torn === null) return
    const { place } = torn.joined
    const due = this.#last === null ? linePrefix : nextLinePrefix(this.#last.link)
    if (!mayBegin(torn, due)) return this.#reportTorn(place)
    this.#addNote(place, 'the end is a torn line: a crash or a full disk cut it off, or it is just being written')
  }

  /**
   * Accepts torn pieces that the next line reports exactly. `isFirst`: the first line of its chain here. Earlier files
   * may end in another chain's piece, and the reported piece may be archived.
   */
  #checkTorn(announced: TornLine | null, { file, line }: AuditLinePosition, isFirst: boolean): void {
    const torn = this.#torn
    this.#torn = null
    if (torn === null) {
      // A mixed stream has no pieces.
      if (announced !== null && !isFirst && !this.#isMixed) {
        const message = `the torn line of ${announced.bytes} bytes is missing that stood before this one`
        this.#addFinding({ file, line }, message)
      }
      return
    }
    if (this.#acceptReported(torn.joined, announced, line)) return
    if (!isFirst) return this.#reportTorn(torn.joined.place)
    const isInFile = torn.own.place.file === file
    this.#acceptTornEnd(isInFile ? torn.earlier : torn)
    if (isInFile && !this.#acceptReported(torn.own, announced, line)) this.#reportTorn(torn.own.place)
  }

  #acceptReported(pieces: PieceDigest, announced: TornLine | null, line: number): boolean {
    const { bytes, hash } = pieces
    if (announced?.bytes !== bytes || announced.sha256 !== hash.digest('hex')) return false
    this.#addNote(pieces.place, `a torn line of ${bytes} bytes, as line ${line} says`)
    return true
  }

  #reportTorn(place: AuditLinePosition): void {
    const next = this.#last === null ? 'the first' : `number ${this.#last.link.count + 1}`
    this.#addFinding(place, `this is no line of an audit log; expected line ${next}`)
  }

  /** Null: a new chain. */
  #findChain({ chain }: ParsedAuditLine, { file }: AuditLinePosition): ChainProgress | null {
    const isFree = this.#isMixed || file !== this.#file
    this.#file = file
    return isFree ? (this.#chains.get(chain) ?? null) : this.#last
  }

  /** Null: the line names no line before it. */
  #beginChain(read: ParsedAuditLine, fields: ChainFields | null, place: AuditLinePosition): ChainProgress | null {
    if (fields?.previous == null) {
      this.#addFinding(place, 'the first line says not what it follows; expected the first line of a file')
      return null
    }
    const link = { chain: read.chain, count: read.number - 1, mac: fields.previous }
    const begun = { link, first: read.number, lines: 0, keyId: fields.key, place }
    this.#chains.set(read.chain, begun)
    return begun
  }

  #checkLine(chain: ChainProgress, line: ParsedAuditLine, place: AuditLinePosition): void {
    const { chain: name, number, mac, sealed } = line
    const { link, keyId } = chain
    const key = this.#keys.find(({ id }) => id === keyId)
    const expected = link.count + 1
    const at = { ...place, number }
    if (name !== link.chain)
      this.#addFinding(at, `this is of another chain, ${name}; expected number ${expected} of ${link.chain}`)
    else if (number !== expected)
      this.#addFinding(at, `this is number ${number}; expected ${expected}: lines were dropped, inserted or moved`)
    else if (key === undefined) this.#reportMissingKey(keyId, at)
    else if (computeMac(key, link.mac, sealed) !== mac)
      this.#addFinding(
        at,
        `line number ${number} was edited, or does not follow the one before it; expected its HMAC to be another`,
      )
    this.#matchCheckpoints({ chain: name, count: number, mac }, place)
    chain.link = { chain: name, count: number, mac }
    chain.lines++
    chain.place = place
  }

  #reportMissingKey(keyId: string | null, at: AuditLinePosition): void {
    if (this.#missingKeys.has(keyId)) return
    if (this.#missingKeys.size < maxFindings) this.#missingKeys.add(keyId)
    const key = keyId === null ? 'a key that is not named' : `key ${keyId.slice(0, 64)}`
    const given = this.#keys.map(({ id }) => id).join(', ')
    this.#addFinding(
      at,
      `this and what follows is sealed with ${key}, and cannot be verified; expected a --key with that id, and not ${given}`,
    )
  }

  #matchCheckpoints({ chain, count, mac }: ChainPosition, place: AuditLinePosition): void {
    for (const checkpoint of this.#checkpoints.get(count) ?? []) {
      if ((checkpoint.chain ?? chain) !== chain) continue
      if (checkpoint.hash === mac) this.#matched.add(checkpoint)
      else if (!this.#mismatched.has(checkpoint)) {
        const message = `line number ${count} has the HMAC ${mac}; the checkpoint expects ${checkpoint.hash}`
        this.#mismatched.set(checkpoint, { ...place, message })
      }
    }
  }

  #reportUnmatched(checkpoint: Checkpoint): void {
    const { chain, count, hash } = checkpoint
    const mismatch = this.#mismatched.get(checkpoint)
    if (mismatch !== undefined) return this.#addFinding(mismatch, mismatch.message)
    const all = [...this.#chains.values()]
    // A checkpoint without a chain's name may be of any chain that has begun by then.
    const seen = chain === null ? (all.findLast(({ first }) => first <= count) ?? all.at(-1)) : this.#chains.get(chain)
    if (seen === undefined) {
      if (chain === null) return // finish() reports that there is no line
      const message = `no line is of chain ${chain}, of which the checkpoint expects ${count}: where that is another log, leave its checkpoints out`
      return this.#addFinding({ file: '', line: 0 }, message)
    }
    const { link, first, place } = seen
    if (count < first) this.#addNote(place, `the checkpoint of ${count} lines is of an earlier file`)
    else if (count <= link.count)
      this.#addFinding(place, `no line number ${count} has the HMAC ${hash} of the checkpoint`)
    else
      this.#addFinding(
        place,
        `the end was cut off: this is number ${link.count}, the last; the checkpoint expects ${count} lines`,
      )
  }
}
