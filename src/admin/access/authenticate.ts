import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { AdminConfig } from '../../config/config.ts'
import type { AdminError } from '../admin-error.ts'
import { guardRequest } from '../guard.ts'
import { type Principal, setPrincipal } from '../session/principal.ts'
import type { SessionStore } from '../session/session-store.ts'
import { targetPath } from '../url.ts'
import { unnamedOperator } from './operator.ts'
import { findOperatorByCertificate } from './operator-certificates.ts'
import { findOperatorToken, listOperatorTokens } from './operator-tokens.ts'

/**
 * Checks a request (null: it is let in), and notes its principal. A stream checks again and again while it is open: a
 * session ends, a token is removed, a scope changes.
 */
export const authenticateAdmin = (
  { method, url, headers, raw, socket }: FastifyRequest,
  sessions: SessionStore,
  admin: AdminConfig,
): AdminError | null => {
  const principal = findPrincipal(headers, sessions, admin, socket)
  setPrincipal(raw, principal)
  return guardRequest({ method, path: targetPath(url), headers }, principal, admin)
}

/**
 * Finds who sends a request. A bearer token decides by itself, right or wrong; else the session does, and then the
 * certificate of the connection.
 */
export const findPrincipal = (
  headers: IncomingHttpHeaders,
  sessions: SessionStore,
  admin: AdminConfig,
  socket: Socket | null = null,
): Principal => {
  const asksForProof = listOperatorTokens(admin).length > 0 || (admin.tls?.clientCertificate ?? null) !== null
  if (!asksForProof) return sessions.withoutSession(unnamedOperator)
  const token = parseBearerToken(headers.authorization)
  if (token !== null) return sessions.withoutSession(findOperatorToken(token, admin)?.operator ?? null)
  return sessions.find(headers, admin) ?? sessions.withoutSession(socket && findOperatorByCertificate(socket, admin))
}

/** Parses the token of an Authorization field (RFC 6750 §2.1); null: it holds none. */
const parseBearerToken = (authorization = ''): string | null =>
  /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1] ?? null
