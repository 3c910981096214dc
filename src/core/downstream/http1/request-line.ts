import { GatewayError, type ReasonFor, StacklessError } from '../../exchange/failures/errors.ts'
import { describeByte, isPatternByte, isTokenByte, type StartLine } from '../../exchange/http1/head-scanner.ts'
import { knownMethods, METHODS } from '../../exchange/node-http.ts'

const [lf, cr, space, zero, one] = [0x0a, 0x0d, 0x20, 0x30, 0x31]

export const rejectTunnel = (method: string | undefined): GatewayError | null =>
  method === 'CONNECT' ? new GatewayError('method-not-allowed', { fields: ['Allow', 'GET, POST'] }) : null

// A client of another protocol is rejected at its first wrong byte, not at the end of its line.
const beginnings: ReadonlySet<string> = new Set(
  METHODS.flatMap((method) => [...method].map((_, i) => method.slice(0, i + 1))),
)

// RFC 9112 §2.3: upper case, one digit on each side of the dot.
const versionPattern = Buffer.from('HTTP/0.0')

const [get, post] = [Buffer.from('GET'), Buffer.from('POST')]

const equalsAt = (bytes: Buffer, from: number, to: number, expected: Buffer): boolean => {
  if (to - from !== expected.length) return false
  for (let at = from; at < to; at++) if (bytes[at] !== expected[at - from]) return false
  return true
}

// States: where the next byte belongs.
const [inMethod, inTarget, inVersion] = [0, 1, 2]

/** RFC 9112 §3: exactly one space between the parts. Throws `bad-request`. */
export class RequestLine implements StartLine {
  method: string | null = null
  version = ''
  #state = inMethod
  #targetFrom = 0
  #targetTo = 0

  reset(): void {
    this.method = null
    this.#state = inMethod
    this.#targetFrom = this.#targetTo = 0
  }

  target(text: string): string {
    return text.slice(this.#targetFrom, this.#targetTo)
  }

  /** `bytes`: the length of the head so far. */
  isTargetLonger(max: number, bytes: number): boolean {
    if (this.#state === inMethod) return false
    return (this.#state === inTarget ? bytes : this.#targetTo) - this.#targetFrom > max
  }

  scan(bytes: Buffer, base: number, from: number, end: number): number {
    let at = from
    if (this.#state === inMethod) {
      while (at < end && isTokenByte(bytes[at] as number)) at++
      if (at === end) {
        if (!beginnings.has(bytes.toString('latin1', base, at))) throw lineError('bad-method', 'no HTTP method')
        return end
      }
      this.#readMethod(bytes, base, at)
      at++
      this.#state = inTarget
    }
    if (this.#state === inTarget) {
      // RFC 3986 §2: all other bytes must be encoded.
      while (at < end && isTargetByte(bytes[at] as number)) at++
      if (at === end) return end
      this.#targetTo = at - base
      // HTTP/0.9 has no version.
      if (bytes[at] === cr) throw new GatewayError('unsupported-version')
      if (bytes[at] !== space) throw lineError('bad-target', describeByte(bytes[at]))
      if (this.#targetTo === this.#targetFrom) throw lineError('bad-target', 'no target')
      at++
      this.#state = inVersion
    }
    const versionFrom = base + this.#targetTo + 1
    const versionTo = versionFrom + versionPattern.length
    for (; at < end && at < versionTo; at++)
      if (!isPatternByte(bytes[at] as number, versionPattern[at - versionFrom] as number))
        throw lineError('bad-version', describeByte(bytes[at]))
    if (at === end) return end
    this.#readVersion(bytes[versionTo - 3] as number, bytes[versionTo - 1] as number, bytes[at])
    return at
  }

  #readMethod(bytes: Buffer, base: number, at: number): void {
    // Makes no string for GET and POST.
    const method = equalsAt(bytes, base, at, get)
      ? 'GET'
      : equalsAt(bytes, base, at, post)
        ? 'POST'
        : bytes.toString('latin1', base, at)
    if (bytes[at] !== space || !knownMethods.has(method)) throw lineError('bad-method', 'no HTTP method')
    this.method = method
    this.#targetFrom = at + 1 - base
  }

  #readVersion(major: number, minor: number, next: number | undefined): void {
    if (next !== cr) throw lineError(next === lf ? 'bad-line-end' : 'bad-version', describeByte(next))
    if (major !== one || (minor !== one && minor !== zero)) throw new GatewayError('unsupported-version')
    this.version = minor === one ? '1.1' : '1.0'
  }
}

const isTargetByte = (byte: number): boolean => byte > 0x20 && byte < 0x7f

const lineError = (reason: ReasonFor<'bad-request'>, message: string): GatewayError =>
  new GatewayError('bad-request', { reason, cause: new StacklessError(`${message} in the request line`) })
