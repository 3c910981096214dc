import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { now } from '../../clock.ts'

/** Is whoever visits the pages: by a session, or all who need none together. */
export class Visitor {
  /** Names the session in the log and in records: not what its cookie holds, and of no use to anybody. Null: there is none. */
  readonly session: string | null
  /** Stands in every form that is made for the visitor: no other page knows it, so a form with it comes from here. */
  readonly formToken = randomBytes(32).toString('base64url')
  readonly #endsAt: number
  #message: string | null = null

  constructor(session: string | null, lifeMs: number) {
    this.session = session
    this.#endsAt = now() + lifeMs
  }

  /** Tells whether the session has come to its end by itself. */
  get isOver(): boolean {
    return now() >= this.#endsAt
  }

  /** Notes what was done, to be shown on the next page. */
  note(message: string): void {
    this.#message = message
  }

  /** Takes what was noted, which is shown once; null: nothing was. */
  noted(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

const visitors = new WeakMap<IncomingMessage, Visitor>()

/** Notes who sends a request. */
export const isFrom = (request: IncomingMessage, visitor: Visitor): void => void visitors.set(request, visitor)

/** Tells who sends a request. Throws for one that nobody was noted for: that is a defect. */
export const visitorOf = ({ raw }: { readonly raw: IncomingMessage }): Visitor => {
  const visitor = visitors.get(raw)
  if (visitor === undefined) throw new Error('nobody knows who sends this request')
  return visitor
}
