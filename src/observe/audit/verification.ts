import { tornOf } from './batch.ts'
import { type Key, type Link, macOf, opening, type Read, readLine, type Said, saidBy, type Torn } from './chain.ts'

/** Is a place in the files that are verified. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** Is something that is not as it was written, and what was expected there. */
export interface Finding extends Place {
  readonly message: string
}

/** Is a chain as far as it was read. */
export interface ChainSeen {
  readonly first: number
  readonly last: Link
  readonly lines: number
}

/** Says where a chain stood once: whoever cuts off its end cannot change that. The chain is null where it was not told. */
export interface Checkpoint {
  readonly chain: string | null
  readonly count: number
  readonly hash: string
}

interface Following {
  link: Link
  readonly first: number
  lines: number
  key: Key | null
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
  readonly #keys: readonly Key[]
  readonly #checkpoints: readonly Checkpoint[]
  readonly #isMixed: boolean
  readonly #chains = new Map<string, Following>()
  readonly #met = new Set<Checkpoint>()
  #last: Following | null = null
  /** What stands behind the last line and is none. */
  #torn: (Place & { readonly lines: Buffer[]; isEnded: boolean }) | null = null

  /** `isMixed`: the lines stand among others, perhaps of several chains. */
  constructor(keys: readonly Key[], checkpoints: readonly Checkpoint[], isMixed: boolean) {
    this.#keys = keys
    this.#checkpoints = checkpoints
    this.#isMixed = isMixed
  }

  /** The chains that were met. */
  get chains(): readonly ChainSeen[] {
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
    if (!isEnded)
      this.notes.push({
        ...place,
        message: 'the last line has no end: a crash cut it off, or it is just being written',
      })
    if (said?.event === 'key') chain.key = this.#keyOf(said.next)
  }

  /** Judges what only the end tells. */
  end(): void {
    const torn = this.#torn
    if (torn !== null) {
      const message = 'the end is a torn line: a crash cut it off, or it is just being written'
      if (torn.isEnded || torn.lines.length > 1 || holdsWhole(torn.lines[0])) this.#judgeTorn(null, torn)
      else this.notes.push({ ...torn, message })
    }
    if (this.#chains.size === 0 && this.findings.length === 0)
      this.#find({ file: '', line: 0 }, 'there is no line of an audit log; expected at least the first')
    for (const checkpoint of this.#checkpoints) if (!this.#met.has(checkpoint)) this.#missed(checkpoint)
  }

  #find({ file, line }: Place, message: string): void {
    this.findings.push({ file, line, message })
  }

  #noLine(bytes: Buffer, place: Place, isEnded: boolean): void {
    // Of one that was cut off in a stream nobody can say more; the number of the next one of its chain tells whether it is missing.
    if (this.#isMixed) return void this.notes.push({ ...place, message: 'this is no whole line of an audit log' })
    this.#torn ??= { ...place, lines: [], isEnded }
    this.#torn.lines.push(bytes)
    this.#torn.isEnded = isEnded
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
    const found = tornOf(joined(torn.lines))
    if (told !== null && told.bytes === found.bytes && told.sha256 === found.sha256)
      return void this.notes.push({ ...torn, message: `a torn line of ${found.bytes} bytes, as line ${line} says` })
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
    const begun = { link, first: read.number, lines: 0, key: this.#keyOf(said.key), place }
    this.#chains.set(read.chain, begun)
    this.#last = begun
    return begun
  }

  #judge(chain: Following, { chain: name, number, mac, sealed }: Read, place: Place): void {
    const { link, key } = chain
    const expected = link.count + 1
    const at = { ...place, number }
    if (name !== link.chain)
      this.#find(at, `this is of another chain, ${name}; expected number ${expected} of ${link.chain}`)
    else if (number !== expected)
      this.#find(at, `this is number ${number}; expected ${expected}: lines were dropped, inserted or moved`)
    else if (key === null) this.#find(at, this.#unknownKey)
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

  #unknownKey = 'this is sealed with another key; expected a --key for it'

  #keyOf(id: string | null): Key | null {
    const found = this.#keys.find((key) => key.id === id) ?? null
    if (found === null) this.#unknownKey = `this is sealed with key ${id}; expected a --key with that id`
    return found
  }

  #compare({ chain, count, mac }: Link, place: Place): void {
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.count !== count || (checkpoint.chain ?? chain) !== chain) continue
      this.#met.add(checkpoint)
      if (checkpoint.hash === mac) continue
      this.#find(place, `line number ${count} has the HMAC ${mac}; the checkpoint expects ${checkpoint.hash}`)
    }
  }

  #missed({ chain, count }: Checkpoint): void {
    const all = [...this.#chains.values()]
    const seen = chain === null ? all.at(-1) : this.#chains.get(chain)
    if (seen === undefined) {
      const message = `the checkpoint of ${count} lines is of chain ${chain}, which is not here`
      return void this.notes.push({ file: '', line: 0, message })
    }
    const { link, first, place } = seen
    if (count < first) this.notes.push({ ...place, message: `the checkpoint of ${count} lines is of an earlier file` })
    else
      this.#find(
        place,
        `the end was cut off: this is number ${link.count}, the last; the checkpoint expects ${count} lines`,
      )
  }
}

/** Tells whether a torn line holds a whole one: then its end was edited. */
const holdsWhole = (line: Buffer | undefined): boolean => /,"mac":"[0-9a-f]{64}"/.test(line?.toString('latin1') ?? '')

const joined = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((line, at) => (at === 0 ? [line] : [Buffer.from('\n'), line])))
