import { toServerName } from './host-names.ts'
import { trustAnchors } from './trust-anchors.ts'

/**
 * Returns options of a TLS client that verifies its server: without them `NODE_TLS_REJECT_UNAUTHORIZED` would decide.
 * `host` is that of the URL.
 */
export const verifiedTls = (host: string) =>
  ({ ...trustAnchors, rejectUnauthorized: true, servername: toServerName(host) }) as const
