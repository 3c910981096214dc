/** Options of a TLS client that verifies its server: without them `NODE_TLS_REJECT_UNAUTHORIZED` would decide. */
export const verifiedTls = { rejectUnauthorized: true } as const
