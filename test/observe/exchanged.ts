import type { Exchanged } from '../../src/observe/exchanged.ts'

/** Makes the facts of an exchange that went well, but for what is said. */
export const exchanged = (more: Partial<Exchanged> = {}): Exchanged => ({
  requestId: 'id',
  client: '192.0.2.7',
  identity: null,
  authMethod: null,
  method: 'GET',
  path: null,
  operation: 'market.insights',
  status: 200,
  endpoint: 'http://market:8080',
  attempts: 1,
  failedAttempts: [],
  totalMs: 12,
  firstByteMs: 10,
  upstreamMs: 9,
  bytesIn: 3,
  bytesOut: 5,
  configHash: '0123456789ab',
  trace: null,
  failure: null,
  cache: null,
  digests: null,
  ...more,
})
