import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { cookieOf } from './cookie.ts'
import { Visitor } from './visitor.ts'

/** How long a session lasts, whatever is done in it: a page that is left open keeps itself up to date, and would never be idle. */
export const sessionMs = 30 * 60_000

// Operators are few; whoever knows the token must not fill the memory either.
const mostSessions = 64

/** Keeps who has logged in, in the memory of this process. Of what a cookie holds it knows the digest only. */
export class Sessions {
  /** All who need no session, or have none. */
  readonly #anyone = new Visitor(null, Number.POSITIVE_INFINITY)
  /** By the digest of the id; the oldest first. */
  readonly #open = new Map<string, Visitor>()
  /** The digest of the token that they were opened with. */
  #token: string | null = null

  /** Tells who sends a request. */
  of(headers: IncomingHttpHeaders, token: string | null): Visitor {
    this.follow(token)
    const id = cookieOf(headers)
    return (id === null ? undefined : this.#valid(digest(id))) ?? this.#anyone
  }

  /** Opens a session for whoever has shown the token; the id is made here, never taken over, and known to nobody else. */
  open(token: string): { readonly id: string; readonly visitor: Visitor } {
    this.follow(token)
    const id = randomBytes(32).toString('base64url')
    const visitor = new Visitor(randomBytes(4).toString('hex'), sessionMs)
    const [oldest] = this.#open.keys()
    if (this.#open.size >= mostSessions && oldest !== undefined) this.#open.delete(oldest)
    this.#open.set(digest(id), visitor)
    return { id, visitor }
  }

  /** Ends a session. */
  end(visitor: Visitor): void {
    for (const [id, each] of this.#open) if (each === visitor) this.#open.delete(id)
  }

  /** Ends what was opened with another token. */
  follow(token: string | null): void {
    const next = token === null ? null : digest(token)
    if (next !== this.#token) this.#open.clear()
    this.#token = next
  }

  #valid(id: string): Visitor | undefined {
    const visitor = this.#open.get(id)
    if (visitor?.isOver !== true) return visitor
    this.#open.delete(id)
    return undefined
  }
}

const digest = (text: string): string => hash('sha256', text)
