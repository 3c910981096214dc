import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  isSameOperator,
  listOperatorTokens,
  type OperatorProofs,
  type OperatorToken,
} from '../../../core/admin/access/operator-tokens.ts'
import { Principal } from '../../../core/admin/access/principal.ts'
import type { AdminConfig } from '../../../core/config/config.ts'
import { epochMs } from '../../../core/lib/clock.ts'

/** Absolute: an open page updates itself, and would never be idle. */
export const sessionTtlMs = 30 * 60_000

// A client that knows a token must not fill the memory.
const maxSessions = 64

export type SessionStore = ReturnType<typeof createSessionStore>

/** Stores only digests of cookies. `proofs`: whether an issuer's token is still accepted; default: never. */
export const createSessionStore = (proofs: Pick<OperatorProofs, 'recall'> = { recall: () => null }) => {
  /** By the id's digest; the oldest first. */
  const sessions = new Map<string, { readonly principal: Principal; readonly token: OperatorToken }>()
  let current: AdminConfig | null = null

  const isGood = ({ operator, digest }: OperatorToken, admin: AdminConfig): boolean => {
    const listed = listOperatorTokens(admin).find((each) => each.digest.equals(digest))
    const known = listed?.operator ?? proofs.recall(digest)
    return known !== null && isSameOperator(known, operator)
  }
  const findValid = (id: string, admin: AdminConfig): Principal | null => {
    const session = sessions.get(id)
    if (session === undefined) return null
    if (!session.principal.isExpired && isGood(session.token, admin)) return session.principal
    sessions.delete(id)
    return null
  }
  /** Evicts a session of the operator with the most: a read-only operator must not log others out. */
  const makeRoom = (): void => {
    if (sessions.size < maxSessions) return
    for (const [id, { principal }] of sessions) if (principal.isExpired) sessions.delete(id)
    if (sessions.size < maxSessions) return
    const byOperator = Map.groupBy(sessions, ([, { token }]) => token.operator.name).values()
    const [most = []] = [...byOperator].sort((a, b) => b.length - a.length)
    const [oldest] = most
    if (oldest !== undefined) sessions.delete(oldest[0])
  }
  /** Ends sessions whose token was removed, or has another operator or scope. */
  const sync = (admin: AdminConfig): void => {
    if (admin === current) return
    current = admin
    for (const [id, { token }] of sessions) if (!isGood(token, admin)) sessions.delete(id)
  }
  return {
    sync,
    find(headers: IncomingHttpHeaders, admin: AdminConfig): Principal | null {
      sync(admin)
      const id = parseSessionCookie(headers)
      return id === null ? null : findValid(digest(id), admin)
    },
    /** A new id prevents session fixation. The session lives no longer than its token. */
    open(token: OperatorToken): { readonly id: string; readonly principal: Principal; readonly lifeMs: number } {
      const id = randomBytes(32).toString('base64url')
      const untilExpiryMs = token.expiresAt === null ? sessionTtlMs : token.expiresAt - epochMs()
      const lifeMs = Math.max(0, Math.min(sessionTtlMs, untilExpiryMs))
      const principal = new Principal(token.operator, randomBytes(4).toString('hex'), lifeMs)
      makeRoom()
      sessions.set(digest(id), { principal, token })
      return { id, principal, lifeMs }
    },
    end(principal: Principal): void {
      for (const [id, each] of sessions) if (each.principal === principal) sessions.delete(id)
    },
  }
}

const digest = (text: string): string => hash('sha256', text)

/** Two cookies of the name count as none: `__Host-` keeps other hosts from setting one. */
export const parseSessionCookie = (headers: IncomingHttpHeaders): string | null => {
  const start = `${cookieName(headers)}=`
  const [pair, another] = (headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(start))
  if (pair === undefined || another !== undefined) return null
  return pair.slice(start.length)
}

export const formatSessionCookie = (headers: IncomingHttpHeaders, id: string, lifeMs: number): string =>
  `${cookieName(headers)}=${id}; Path=/; Max-Age=${Math.ceil(lifeMs / 1000)}; Secure; HttpOnly; SameSite=Strict`

export const clearSessionCookie = (headers: IncomingHttpHeaders): string => formatSessionCookie(headers, '', 0)

/**
 * With the browser's port: cookies go to all ports of a host, so gateways tunneled to localhost would overwrite each
 * other's session.
 */
const cookieName = ({ host = '' }: IncomingHttpHeaders): string => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return `__Host-lender-gateway${port === undefined ? '' : `-${port}`}`
}
