import type { FastifyRequest } from 'fastify'
import type { AdminConfig } from '../../config/config.ts'
import { guard } from '../guard.ts'
import type { Refusal } from '../problem.ts'
import { pathOf } from '../target.ts'
import type { Sessions } from './sessions.ts'
import { isFrom } from './visitor.ts'

/**
 * Lets a request in (null), or says why not, and notes who sends it. Whatever is kept open asks again and again: a session ends, a token is
 * replaced.
 */
export const admit = (
  { method, url, headers, raw }: FastifyRequest,
  sessions: Sessions,
  admin: AdminConfig,
): Refusal | null => {
  const visitor = sessions.of(headers, admin.token)
  isFrom(raw, visitor)
  return guard({ method, path: pathOf(url), headers, hasSession: visitor.session !== null }, admin)
}
