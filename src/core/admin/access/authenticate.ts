import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { AdminConfig } from '../../config/config.ts'
import { digestSecret } from '../../lib/secrets.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { targetPath } from '../url.ts'
import { authorizeRequest } from './authorize.ts'
import type { OperatorProofs, TokenRejections } from './operator-tokens.ts'
import { findOperatorToken, listOperatorTokens, type Operator, unnamedOperator } from './operator-tokens.ts'
import { type Principal, setPrincipal } from './principal.ts'

export interface AdminAccess {
  findInSession(headers: IncomingHttpHeaders, admin: AdminConfig): Principal | null
  withoutSession(operator: Operator | null): Principal
  readonly proofs: Omit<OperatorProofs, 'applyConfig' | 'close'>
  readonly rejections: TokenRejections
}

type CheckedRequest = Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'raw' | 'socket' | 'ip'>

/** Checks a request and stores its principal. Waits for the issuer only where no other credential decides. */
export const authenticateAdmin = async (
  request: CheckedRequest,
  access: AdminAccess,
  admin: AdminConfig,
): Promise<AdminError | null> => {
  const rejection = recheckAdmin(request, access, admin)
  const token = parseBearerToken(request.headers.authorization)
  if (rejection?.status !== 401 || token === null) return rejection
  if (!access.proofs.isTaken(token, admin)) {
    access.rejections.logIfAllowed(request.ip, 'unknown-token', 'the file has no such token')
    return rejection
  }
  const shown = await access.proofs.verify(token, request.ip)
  if (shown === null) return rejection
  if (isAdminError(shown)) return shown
  return authorize(request, access.withoutSession(shown.operator), access, admin)
}

/** Checks an open stream again, without waiting: sessions end, tokens expire, scopes change. */
export const recheckAdmin = (request: CheckedRequest, access: AdminAccess, admin: AdminConfig): AdminError | null =>
  authorize(request, findPrincipal(request.headers, access, admin, request.socket), access, admin)

const authorize = (
  { method, url, headers, raw }: CheckedRequest,
  principal: Principal,
  { proofs }: AdminAccess,
  admin: AdminConfig,
) => {
  setPrincipal(raw, principal)
  return authorizeRequest({ method, path: targetPath(url), headers }, principal, admin, takesTokens(proofs, admin))
}

/** A bearer token, right or wrong, decides alone; without a token the session does, then the certificate. */
export const findPrincipal = (
  headers: IncomingHttpHeaders,
  { findInSession, withoutSession, proofs }: Omit<AdminAccess, 'rejections'>,
  admin: AdminConfig,
  socket: Socket | null = null,
): Principal => {
  // A listener on loopback may ask for no credential.
  if (!takesTokens(proofs, admin) && (admin.tls?.clientCertificate ?? null) === null)
    return withoutSession(unnamedOperator)
  const token = parseBearerToken(headers.authorization)
  if (token === null)
    return findInSession(headers, admin) ?? withoutSession(socket && proofs.ofConnection(socket, admin))
  const listed = findOperatorToken(token, admin)
  return withoutSession(listed === null ? recall(token, proofs, admin) : listed.operator)
}

const takesTokens = (proofs: AdminAccess['proofs'], admin: AdminConfig): boolean =>
  listOperatorTokens(admin).length > 0 || proofs.takesTokens(admin)

const recall = (token: string, proofs: AdminAccess['proofs'], admin: AdminConfig): Operator | null =>
  proofs.isTaken(token, admin) ? proofs.recall(digestSecret(token)) : null

const parseBearerToken = (authorization = ''): string | null =>
  /^Bearer(?: |$)/i.test(authorization) ? authorization.slice('Bearer'.length).trim() : null
