import { isText, isToken } from './head-scanner.ts'
import { MalformedResponse } from './malformed-response.ts'

// As many as Node's server takes of a request. They are read past, not kept.
const maxLineBytes = 16 * 1024

const [lf, cr, quote, semicolon, equals, backslash] = [0x0a, 0x0d, 0x22, 0x3b, 0x3d, 0x5c]

// What the next byte belongs to.
const atSize = 0
const inSize = 1
const atName = 2
const inName = 3
const atValue = 4
const inValue = 5
const inQuotes = 6
const afterBackslash = 7
const afterQuotes = 8
const atLineFeed = 9

/**
 * Reads the line in front of a chunk (RFC 9112 §7.1): its size, and the extensions, which are left out (§7.1.1). It
 * goes on where it has stopped.
 */
export class ChunkLine {
  /** The size of the chunk whose line was read last. */
  size = 0
  #state = atSize
  #length = 0

  /** Reads on, in bytes[from, to). Returns where what follows the line begins; -1: more must come. */
  scan(bytes: Buffer, from: number, to: number): number {
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number
      if (this.#state === atLineFeed) {
        if (byte !== lf) throw malformed('line end', byte)
        this.#state = atSize
        this.#length = 0
        return at + 1
      }
      if (++this.#length > maxLineBytes) throw refused(`more than ${maxLineBytes} bytes`)
      this.#state = this.#next(byte)
    }
    return -1
  }

  #next(byte: number): number {
    switch (this.#state) {
      case atSize:
        this.size = 0
        return this.#digit(byte)
      case inSize:
        return byte === cr ? atLineFeed : byte === semicolon ? atName : this.#digit(byte)
      // Blanks around ";" and "=" are bad (§7.1.1), and read by some parsers and not by others: refused.
      case atName:
      case atValue:
        if (this.#state === atValue && byte === quote) return inQuotes
        if (isToken(byte)) return this.#state + 1
        throw malformed('extension', byte)
      case inName:
      case inValue:
      case afterQuotes:
        if (byte === cr) return atLineFeed
        if (byte === semicolon) return atName
        if (byte === equals && this.#state === inName) return atValue
        if (isToken(byte) && this.#state !== afterQuotes) return this.#state
        throw malformed(this.#state === afterQuotes ? 'quoted value' : 'extension', byte)
      default:
        // RFC 9110 §5.6.4: a quoted string, in which control characters are not.
        if (!isText(byte)) throw malformed('quoted value', byte)
        if (this.#state === afterBackslash) return inQuotes
        return byte === quote ? afterQuotes : byte === backslash ? afterBackslash : inQuotes
    }
  }

  // Digits alone: no sign, no blank, no 0x. More than can be counted exactly is refused (§7.1).
  #digit(byte: number): number {
    const value = byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
    if (value < 0 || value > 15 || (byte > 0x39 && value < 10)) throw malformed('size', byte)
    this.size = 16 * this.size + value
    if (!Number.isSafeInteger(this.size)) throw refused('a size beyond counting')
    return inSize
  }
}

const malformed = (part: string, byte: number): MalformedResponse =>
  refused(`byte 0x${byte.toString(16).padStart(2, '0')} in its ${part}`)

const refused = (message: string): MalformedResponse =>
  new MalformedResponse('not-http', `the line of a chunk: ${message}`)
