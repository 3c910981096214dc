import {
  type AuditKey,
  type AuditLinePosition,
  type ChainFields,
  type ChainPosition,
  computeMac,
  linePrefix,
  nextLinePrefix,
  type ParsedAuditLine,
  type PieceDigest,
  parseAuditLine,
  parseChainFields,
  type TornLine,
  TornPieces,
} from './chain.ts'

/** What differs from what was written, and what was expected there. */
export interface AuditFinding extends AuditLinePosition {
  readonly message: string
}

/**
 * The end of a chain at an earlier time: an attacker who cuts off the end cannot change that. `chain` null: the
 * checkpoint did not name it.
 */
export interface Checkpoint {
  readonly chain: string | null
  readonly count: number
  readonly hash: string
}

// A file of another format has as many findings as lines.
const maxFindings = 1000

interface ChainProgress {
  link: ChainPosition
  readonly first: number
  lines: number
  /** The id of the key of its next lines; null: unknown. */
  keyId: string | null
  place: AuditLinePosition
}

/**
 * Follows the lines of an audit log and finds what is not as it was written: a line that was edited, dropped, inserted
 * or moved, and, by checkpoints, an end that was cut off. Each file continues a chain of those before, or begins
 * another one where its first line says: older files may be archived.
 */
export class ChainVerifier {
  readonly findings: AuditFinding[] = []
  /** What is worth a word and no fault. */
  readonly notes: AuditFinding[] = []
  omittedFindings = 0
  readonly #keys: readonly AuditKey[]
  /** By the number of lines: a year's log has half a million. */
  readonly #checkpoints: ReadonlyMap<number, readonly Checkpoint[]>
  readonly #isMixed: boolean
  readonly #chains = new Map<string, ChainProgress>()
  readonly #matched = new Set<Checkpoint>()
  /** The first line with the number of a checkpoint and another HMAC: the checkpoint may be of another chain. */
  readonly #mismatched = new Map<Checkpoint, AuditFinding>()
  /** The keys that were not given, each reported once: of the lines that they seal, nothing more can be said. */
  readonly #missingKeys = new Set<string | null>()
  #last: ChainProgress | null = null
  #file: string | null = null
  /** What stands after the last line and forms no line, up to the file of the last piece. */
  #torn: TornPieces | null = null

  /** `isMixed`: the lines stand among others, perhaps of several chains. */
  constructor(keys: readonly AuditKey[], checkpoints: readonly Checkpoint[], isMixed: boolean) {
    this.#keys = keys
    this.#checkpoints = Map.groupBy(checkpoints, ({ count }) => count)
    this.#isMixed = isMixed
  }

  get chains() {
    return [...this.#chains.values()].map(({ first, link, lines }) => ({ first, last: link, lines }))
  }

  /** Verifies the next line, given without its end; `isEnded`: it has one. */
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

  /** Checks what only the end can show. */
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
    // Of a line cut off in a stream no more can be said; the number of the next one of its chain shows whether it is
    // missing.
    if (this.#isMixed) return this.#addNote(place, 'this is no whole line of an audit log')
    if (this.#torn?.own.place.file !== place.file) this.#torn = new TornPieces(place, bytes, this.#torn)
    this.#torn.add(bytes, isEnded)
  }

  /** Accepts a torn piece at the end of a chain, if it may be the beginning of its next line. */
  #acceptTornEnd(torn: TornPieces | null): void {
    if (torn === null) return
    const { place } = torn.joined
    const due = this.#last === null ? linePrefix : nextLinePrefix(this.#last.link)
    if (!torn.mayBegin(due)) return this.#reportTorn(place)
    this.#addNote(place, 'the end is a torn line: a crash or a full disk cut it off, or it is just being written')
  }

  /**
   * Accepts torn pieces where the next line, written after the crash, reports exactly those. `isFirst`: that line is
   * the first of its chain here. Then the files before it may end in a piece of another chain, and what it reports may
   * be in a file that is archived.
   */
  #checkTorn(announced: TornLine | null, { file, line }: AuditLinePosition, isFirst: boolean): void {
    const torn = this.#torn
    this.#torn = null
    if (torn === null) {
      // Of a piece among other lines nothing is kept: the number of the line tells whether one is missing.
      if (announced !== null && !isFirst && !this.#isMixed)
        this.#addFinding(
          { file, line },
          `the torn line of ${announced.bytes} bytes is missing that stood before this one`,
        )
      return
    }
    if (this.#acceptReported(torn.joined, announced, line)) return
    if (!isFirst) return this.#reportTorn(torn.joined.place)
    const isInFile = torn.own.place.file === file
    this.#acceptTornEnd(isInFile ? torn.earlier : torn)
    if (isInFile && !this.#acceptReported(torn.own, announced, line)) this.#reportTorn(torn.own.place)
  }

  /** Accepts torn pieces that a line reports. Returns whether it does. */
  #acceptReported(pieces: PieceDigest, announced: TornLine | null, line: number): boolean {
    const { bytes, sha256 } = pieces.toTornLine()
    if (announced?.bytes !== bytes || announced.sha256 !== sha256) return false
    this.#addNote(pieces.place, `a torn line of ${bytes} bytes, as line ${line} says`)
    return true
  }

  #reportTorn(place: AuditLinePosition): void {
    const next = this.#last === null ? 'the first' : `number ${this.#last.link.count + 1}`
    this.#addFinding(place, `this is no line of an audit log; expected line ${next}`)
  }

  /** Finds the chain that a line should belong to, within a file that of the line before; null: none so far. */
  #findChain({ chain }: ParsedAuditLine, { file }: AuditLinePosition): ChainProgress | null {
    const isFree = this.#isMixed || file !== this.#file
    this.#file = file
    return isFree ? (this.#chains.get(chain) ?? null) : this.#last
  }

  /** Begins the chain of a line; null: it says not where. */
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

  #checkLine(
    chain: ChainProgress,
    { chain: name, number, mac, sealed }: ParsedAuditLine,
    place: AuditLinePosition,
  ): void {
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
    // A checkpoint that names no chain may be of any that begins by then: its end may be cut off.
    const seen = chain === null ? (all.findLast(({ first }) => first <= count) ?? all.at(-1)) : this.#chains.get(chain)
    if (seen === undefined) {
      if (chain === null) return // that there is no line at all is reported
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
