import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { now } from '../../lib/clock.ts'
import type { Operator } from './operator-tokens.ts'

export class Principal {
  readonly operator: Operator | null // null: no credential, or a wrong one
  /** The session's name in logs, no secret. Null: the request has its own credential. */
  readonly session: string | null
  /** In every form of the operator: other sites cannot read it (CSRF). */
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

  takeFlash(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

const maxOperators = 64

/** One principal for each operator without a session, and one for all unknown clients. */
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

export const getPrincipal = ({ raw }: { readonly raw: IncomingMessage }): Principal => {
  const principal = principals.get(raw)
  if (principal === undefined) throw new Error('the principal of this request was not noted')
  return principal
}
