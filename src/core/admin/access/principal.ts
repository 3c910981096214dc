import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { now } from '../../lib/clock.ts'
import type { Operator } from './operator.ts'

/** Who sends a request: an operator, by a session or without one, or an unknown client. */
export class Principal {
  /** Null: no credential, or a wrong one. */
  readonly operator: Operator | null
  /**
   * The name of the session in logs and records: not the content of its cookie, and of no use to a reader. Null: no
   * session.
   */
  readonly session: string | null
  /**
   * The token in every form that is made for the operator. No other page knows it, so a form with it comes from here.
   */
  readonly csrfToken = randomBytes(32).toString('base64url')
  readonly #endsAt: number
  #message: string | null = null

  constructor(operator: Operator | null, session: string | null, lifeMs: number) {
    this.operator = operator
    this.session = session
    this.#endsAt = now() + lifeMs
  }

  get isExpired(): boolean {
    return now() >= this.#endsAt
  }

  setFlash(message: string): void {
    this.#message = message
  }

  /** Takes the message, which is shown once; null: there is none. */
  takeFlash(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

// Operators are few, and a client that knows a token must not fill the memory either.
const maxOperators = 64

/** Creates what finds who sends requests without a session: one principal of each operator, and of unknown clients. */
export const principalsWithoutSession = (): ((operator: Operator | null) => Principal) => {
  const known = new LRUCache<string, Principal>({ max: maxOperators })
  return (operator) => {
    const key = operator === null ? '' : `${operator.proof} ${operator.scope} ${operator.name}`
    const principal = known.get(key) ?? new Principal(operator, null, Number.POSITIVE_INFINITY)
    known.set(key, principal)
    return principal
  }
}

const principals = new WeakMap<IncomingMessage, Principal>()

export const setPrincipal = (request: IncomingMessage, principal: Principal): void =>
  void principals.set(request, principal)

/** Throws where none was noted: that is a defect. */
export const getPrincipal = ({ raw }: { readonly raw: IncomingMessage }): Principal => {
  const principal = principals.get(raw)
  if (principal === undefined) throw new Error('the principal of this request was not noted')
  return principal
}
