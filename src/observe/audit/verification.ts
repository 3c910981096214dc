import { createHash, type Hash } from 'node:crypto'
import {
  beginsLike,
  type Key,
  type Link,
  macOf,
  opening,
  openingOf,
  type Read,
  readLine,
  type Said,
  saidBy,
  type Torn,
} from './chain.ts'

/** Is a place in the files that are verified. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** Is something that is not as it was written, and what was expected there. */
export interface Finding extends Place {
  readonly message: string
}

/** Says where a chain stood once: whoever cuts off its end cannot change that. The chain is null where it was not told. */
export interface Checkpoint {
  readonly chain: string | null
  readonly count: number
  readonly hash: string
}

/** Is what stands behind a line and is none: the first piece of it, and of all how many there are and what they come to. */
interface Pieces extends Place {
  readonly first: Buffer
  readonly hash: Hash
  bytes: number
  count: number
  isEnded: boolean
}

// Of a file of another format there are as many as lines.
const mostKept = 1000

interface Following {
  link: Link
  readonly first: number
  lines: number
  /** What its next lines are sealed with, as far as they say; null: they do not. */
  keyId: string | null
  place: Place
}

/**
 * Follows the lines of an audit log and finds what is not as it was written: a line that was edited, dropped, inserted or moved, and by
 * checkpoints an end that was cut off. Each file goes on where the one before ended; the first begins where it says.
 */
export class Verification {
  readonly findings: Finding[] = []
  /** What is worth a word and no fault. */
  readonly notes: Finding[] = []
  /** How many findings there are beyond those that are kept. */
  unkept = 0
  readonly #keys: readonly Key[]
  readonly #checkpoints: readonly Checkpoint[]
  readonly #isMixed: boolean
  readonly #chains = new Map<string, Following>()
  readonly #met = new Set<Checkpoint>()
  /** The keys that were not given, each found fault with once: of what it seals, nothing more can be said. */
  readonly #missing = new Set<string | null>()
  #last: Following | null = null
  /** What stands behind the last line and is none. */
  #torn: Pieces | null = null

  /** `isMixed`: the lines stand among others, perhaps of several chains. */
  constructor(keys: readonly Key[], checkpoints: readonly Checkpoint[], isMixed: boolean) {
    this.#keys = keys
    this.#checkpoints = checkpoints
    this.#isMixed = isMixed
  }

  /** The chains that were met, as far as they were read. */
  get chains() {
    return [...this.#chains.values()].map(({ first, link, lines }) => ({ first, last: link, lines }))
  }

  /** Takes the next line, without its end; `isEnded`: it has one. */
  take(bytes: Buffer, place: Place, isEnded: boolean): void {
    if (this.#isMixed && !bytes.toString('latin1', 0, opening.length).startsWith(opening)) return
    const read = readLine(bytes)
    if (read === null) return this.#noLine(bytes, place, isEnded)
    const said = saidBy(read)
    this.#judgeTorn(said?.torn ?? null, place)
    const chain = this.#follow(read, said, place)
    if (chain === null) return
    this.#judge(chain, read, place)
    if (!isEnded) this.#note(place, 'the last line has no end: a crash cut it off, or it is just being written')
    if (said?.event === 'key') chain.keyId = said.next
  }

  /** Judges what only the end tells. */
  end(): void {
    const torn = this.#torn
    if (torn !== null) {
      const message = 'the end is a torn line: a crash cut it off, or it is just being written'
      if (this.#mayBeUnderWay(torn)) this.#note(torn, message)
      else this.#judgeTorn(null, torn)
    }
    if (this.#chains.size === 0 && this.findings.length === 0)
      this.#find({ file: '', line: 0 }, 'there is no line of an audit log; expected at least the first')
    for (const checkpoint of this.#checkpoints) if (!this.#met.has(checkpoint)) this.#missed(checkpoint)
  }

  #find({ file, line }: Place, message: string): void {
    if (this.findings.length < mostKept) this.findings.push({ file, line, message })
    else this.unkept++
  }

  #note({ file, line }: Place, message: string): void {
    if (this.notes.length < mostKept) this.notes.push({ file, line, message })
  }

  #noLine(bytes: Buffer, place: Place, isEnded: boolean): void {
    // Of one that was cut off in a stream nobody can say more; the number of the next one of its chain tells whether it is missing.
    if (this.#isMixed) return this.#note(place, 'this is no whole line of an audit log')
    const torn = this.#torn ?? { ...place, first: bytes, hash: createHash('sha256'), bytes: -1, count: 0, isEnded }
    this.#torn = torn
    if (torn.count > 0) torn.hash.update('\n')
    torn.hash.update(bytes)
    torn.bytes += bytes.length + 1
    torn.count++
    torn.isEnded = isEnded
  }

  /** Tells whether a piece at the very end can be the beginning of the line that is due. One that holds a whole line had its end edited. */
  #mayBeUnderWay({ first, count, isEnded }: Pieces): boolean {
    if (isEnded || count > 1 || /,"mac":"[0-9a-f]{64}"/.test(first.toString('latin1'))) return false
    return beginsLike(first, this.#last === null ? opening : openingOf(this.#last.link))
  }

  /** A piece of a line is in order where the next line, written after the crash, tells of exactly that. */
  #judgeTorn(told: Torn | null, { file, line }: Place): void {
    const torn = this.#torn
    this.#torn = null
    if (torn === null) {
      if (told !== null && this.#chains.size > 0)
        this.#find({ file, line }, `the torn line of ${told.bytes} bytes is missing that stood before this one`)
      return
    }
    const found = { bytes: torn.bytes, sha256: torn.hash.digest('hex') }
    if (told !== null && told.bytes === found.bytes && told.sha256 === found.sha256)
      return this.#note(torn, `a torn line of ${found.bytes} bytes, as line ${line} says`)
    const next = this.#last === null ? 'the first' : `number ${this.#last.link.count + 1}`
    this.#find(torn, `this is no line of an audit log; expected line ${next}`)
  }

  /** Finds the chain that a line is of; null: it cannot be told. */
  #follow(read: Read, said: Said | null, place: Place): Following | null {
    const known = this.#isMixed ? this.#chains.get(read.chain) : this.#last
    if (known != null) {
      this.#last = known
      return known
    }
    if (said?.previous == null) {
      this.#find(place, 'the first line says not what it follows; expected the first line of a file')
      return null
    }
    const link = { chain: read.chain, count: read.number - 1, mac: said.previous }
    const begun = { link, first: read.number, lines: 0, keyId: said.key, place }
    this.#chains.set(read.chain, begun)
    this.#last = begun
    return begun
  }

  #judge(chain: Following, { chain: name, number, mac, sealed }: Read, place: Place): void {
    const { link, keyId } = chain
    const key = this.#keys.find(({ id }) => id === keyId)
    const expected = link.count + 1
    const at = { ...place, number }
    if (name !== link.chain)
      this.#find(at, `this is of another chain, ${name}; expected number ${expected} of ${link.chain}`)
    else if (number !== expected)
      this.#find(at, `this is number ${number}; expected ${expected}: lines were dropped, inserted or moved`)
    else if (key === undefined) this.#miss(keyId, at)
    else if (macOf(key, link.mac, sealed) !== mac)
      this.#find(
        at,
        `line number ${number} was edited, or does not follow the one before it; expected its HMAC to be another`,
      )
    this.#compare({ chain: name, count: number, mac }, place)
    chain.link = { chain: name, count: number, mac }
    chain.lines++
    chain.place = place
  }

  #miss(keyId: string | null, at: Place): void {
    if (this.#missing.has(keyId)) return
    if (this.#missing.size < mostKept) this.#missing.add(keyId)
    const key = keyId === null ? 'a key that is not named' : `key ${keyId.slice(0, 64)}`
    const given = this.#keys.map(({ id }) => id).join(', ')
    this.#find(
      at,
      `this and what follows is sealed with ${key}, and cannot be verified; expected a --key with that id, and not ${given}`,
    )
  }

  #compare({ chain, count, mac }: Link, place: Place): void {
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.count !== count || (checkpoint.chain ?? chain) !== chain) continue
      // Which of several chains it is of is told by its hash alone.
      if (checkpoint.hash !== mac && checkpoint.chain === null && this.#isMixed) continue
      this.#met.add(checkpoint)
      if (checkpoint.hash === mac) continue
      this.#find(place, `line number ${count} has the HMAC ${mac}; the checkpoint expects ${checkpoint.hash}`)
    }
  }

  #missed({ chain, count, hash }: Checkpoint): void {
    const all = [...this.#chains.values()]
    const seen = chain === null ? all.at(-1) : this.#chains.get(chain)
    if (seen === undefined) {
      if (chain === null) return // that there is no line at all is told
      const message = `no line is of chain ${chain}, of which the checkpoint expects ${count}: where that is another log, leave its checkpoints out`
      return this.#find({ file: '', line: 0 }, message)
    }
    const { link, first, place } = seen
    if (count < first) this.#note(place, `the checkpoint of ${count} lines is of an earlier file`)
    else if (count <= link.count) this.#find(place, `no line number ${count} has the HMAC ${hash} of the checkpoint`)
    else
      this.#find(
        place,
        `the end was cut off: this is number ${link.count}, the last; the checkpoint expects ${count} lines`,
      )
  }
}
