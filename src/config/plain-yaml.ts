/**
 * Reads a text that is a list in the plainest YAML, as people and programs write long ones: a key or an entry a line, values that are names,
 * numbers, true, false, or quoted without escapes, and short lists and maps in brackets. Undefined: it is not, or says something twice, and
 * the parser of YAML says what it is; of what is read here that one would have made the very same, and would have taken many times as long.
 */
export const plainYaml = (text: string): { readonly tree: readonly unknown[] } | undefined => {
  if (unusual.test(text) || text.includes('${')) return undefined
  try {
    return { tree: new PlainYaml(text).list() }
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

const unusual = /[^\n\x20-\x7e]/

class NotPlain extends Error {}

const unsure = (): never => {
  throw new NotPlain()
}

type Entries = Record<string, unknown>

// No client is deeper.
const deepest = 8

/** Is a text that is read from its beginning to its end. */
class PlainYaml {
  readonly #text: string
  /** Where what was not read yet begins. */
  #at = 0
  /** In which column that is, at the beginning of a line or behind its dash; elsewhere: of what this line began with. */
  #column = 0

  constructor(text: string) {
    this.#text = text
    this.#toNextLine()
  }

  /** Reads the whole text. */
  list(): readonly unknown[] {
    const made = this.#column === 0 ? this.#listBelow(0, deepest) : unsure()
    return this.#at === this.#text.length && made.length > 0 ? made : unsure()
  }

  /** Reads the entries that begin in a column, each with a dash. */
  #listBelow(column: number, deeper: number): unknown[] {
    const made: unknown[] = []
    while (this.#column === column && this.#startsWith('- ')) {
      // What follows the dash is as if it began a line of its own.
      this.#at++
      this.#column += 1 + this.#pastBlanks()
      made.push(this.#isAtKey() ? this.#mapBelow(this.#column, deeper - 1) : this.#wholeValue(deeper - 1))
    }
    return made
  }

  /** Reads the keys that begin in a column, each with its value. */
  #mapBelow(column: number, deeper: number): Entries {
    if (deeper === 0) unsure()
    const made: Entries = {}
    while (this.#column === column && this.#isAtKey()) {
      const name = this.#key(made)
      this.#pastBlanks()
      made[name] = this.#isAtEnd() ? this.#below(column, deeper) : this.#wholeValue(deeper)
    }
    return made
  }

  /** Reads what stands in the lines below a key. */
  #below(column: number, deeper: number): unknown {
    this.#toNextLine()
    if (this.#column >= column && this.#startsWith('- ')) return this.#listBelow(this.#column, deeper - 1)
    return this.#column > column && this.#isAtKey() ? this.#mapBelow(this.#column, deeper - 1) : unsure()
  }

  /** Reads a value with which a line ends. */
  #wholeValue(deeper: number): unknown {
    const value = this.#value(deeper)
    if (!this.#isAtEnd() && this.#pastBlanks() === 0) unsure()
    if (this.#text[this.#at] === '#') this.#at = this.#endOfLine()
    if (!this.#isAtEnd()) unsure()
    this.#toNextLine()
    return value
  }

  #value(deeper: number): unknown {
    const sign = this.#text[this.#at]
    if (sign === '[') return this.#listInBrackets(deeper - 1)
    if (sign === '{') return this.#mapInBraces(deeper - 1)
    return sign === '"' || sign === "'" ? this.#quoted() : resolved(this.#take(plain))
  }

  #listInBrackets(deeper: number): unknown[] {
    const made: unknown[] = []
    while (this.#hasNext(']', made.length === 0, deeper)) made.push(this.#value(deeper))
    return made
  }

  #mapInBraces(deeper: number): Entries {
    const made: Entries = {}
    for (let isFirst = true; this.#hasNext('}', isFirst, deeper); isFirst = false) {
      const isQuoted = '"\''.includes(this.#text[this.#at] ?? ' ')
      const name = this.#key(made)
      if (this.#pastBlanks() === 0 && !isQuoted) unsure()
      made[name] = this.#value(deeper)
    }
    return made
  }

  /** Goes past what stands between two entries in brackets, or past the end of them. */
  #hasNext(end: ']' | '}', isFirst: boolean, deeper: number): boolean {
    if (deeper === 0) unsure()
    if (isFirst) this.#at++
    this.#pastBlanks()
    const sign = this.#text[this.#at]
    if (sign !== end && isFirst) return true
    if (sign !== end && sign !== ',') unsure()
    this.#at++
    if (sign === ',') this.#pastBlanks()
    return sign === ','
  }

  #isAtKey(): boolean {
    key.lastIndex = this.#at
    return key.test(this.#text)
  }

  /** Reads a key and its colon. */
  #key(made: Entries): string {
    const sign = this.#text[this.#at]
    const name = sign === '"' || sign === "'" ? this.#quoted() : this.#take(plainKey)
    if (this.#text[this.#at] !== ':' || name.length > longestKey) unsure()
    this.#at++
    if (name === '__proto__' || word.test(name) || Object.hasOwn(made, name)) unsure()
    return name
  }

  #quoted(): string {
    const said = this.#take(quoted)
    return said.slice(1, -1)
  }

  #take(what: RegExp): string {
    const from = this.#at
    what.lastIndex = from
    if (!what.test(this.#text)) unsure()
    this.#at = what.lastIndex
    return this.#text.slice(from, this.#at)
  }

  #startsWith(sign: string): boolean {
    return this.#text.startsWith(sign, this.#at)
  }

  #isAtEnd(): boolean {
    return this.#at === this.#text.length || this.#text[this.#at] === '\n'
  }

  #endOfLine(): number {
    const end = this.#text.indexOf('\n', this.#at)
    return end === -1 ? this.#text.length : end
  }

  /** Tells how many there were. */
  #pastBlanks(): number {
    const from = this.#at
    while (this.#text[this.#at] === ' ') this.#at++
    return this.#at - from
  }

  /** Goes to what the next line says that says anything. */
  #toNextLine(): void {
    if (this.#text[this.#at] === '\n') this.#at++
    this.#column = this.#pastBlanks()
    while (this.#at < this.#text.length && (this.#isAtEnd() || this.#text[this.#at] === '#')) {
      this.#at = Math.min(this.#endOfLine() + 1, this.#text.length)
      this.#column = this.#pastBlanks()
    }
  }
}

// Of a longer one the parser of YAML says that it is too long.
const longestKey = 256

const plainKey = /[A-Za-z_](?:[\w./-]|:(?=[\w/]))*/y
const key = /(?:"[^"\\\n]*"|'[^'\n]*'|[A-Za-z_](?:[\w./-]|:(?=[\w/]))*):(?= |\n|$)/y
const plain = /(?:[\w/]|::)[\w./:@+'-]*(?: +[\w/][\w./:@+'-]*)*/y
const quoted = /"[^"\\\n]*"|'[^'\n]*'(?!')/y

const keyWithin = /:(?: |$)/
const word = /^(?:null|true|false)$/i
const number = /^(?:0|[1-9]\d{0,14})$/
// YAML has more numbers, and nobody needs them here.
const likeNumber = /^(?:\d+\.?\d*(?:e[-+]?\d+)?|0[xo].*)$/i

const resolved = (text: string): unknown => {
  if (text === 'true') return true
  if (text === 'false') return false
  if (number.test(text)) return Number(text)
  return word.test(text) || likeNumber.test(text) || keyWithin.test(text) ? unsure() : text
}
