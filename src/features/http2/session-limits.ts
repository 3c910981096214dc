import type { ListenConfig } from '../../core/config/config.ts'

/** Requests under way on a connection. */
export const maxConcurrentStreams = 100

export type SessionLimits = Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>

/** Above the limits of 431 and 414, so that the gateway can respond. */
export const maxListFields = ({ maxHeaderFields }: SessionLimits): number => 2 * maxHeaderFields + 16

/** RFC 9113 §6.5.2: each field counts 32 more than its letters. */
export const maxListSize = (limits: SessionLimits): number =>
  limits.maxTarget + limits.maxHeaders + 1024 + 32 * maxListFields(limits)
