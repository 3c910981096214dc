/** Writes the file of a gateway that has one thing on. */
import { publicUrl } from '../../../test/helpers/token-binding.ts'
import { audience, issuer } from '../../../test/helpers/tokens.ts'
import { addresses } from '../addresses.ts'
import { clientsText } from '../clients.ts'
import { behindEach, gatewayFile } from '../peers/gateway.ts'
import { get, post } from '../workload.ts'
import type { Level } from './levels.ts'

/**
 * All that can be turned off, as the file writes it. The access log stays on: by it is seen that each request was
 * served. Words in capitals stand for what is known when it starts: a DIRECTORY of the gateway's own, the KEY of the
 * client, who makes tokens and where it is asked about them.
 */
const off = {
  eventLoopDelay: 'none',
  concurrency: 'none',
  upstreamConcurrency: 'none',
  address: 'none',
  auth: 'none',
  /** What is said of the one client beside what it may call; empty: there is none. */
  client: '',
  maxBody: 'none',
  deadline: 'none',
  retry: 'none',
  access: 'true',
  audit: 'none',
  requestId: 'none',
  tracing: 'none',
  metrics: 'none',
  contract: 'none',
  /** What is the same for all operations that have it; empty: none has it. */
  idempotency: '',
  /** What is said of a candidate at the same place beside where it is; empty: there is no candidate. */
  candidate: '',
}

export type Switches = Readonly<typeof off>

/** Where a gateway runs. */
export interface LevelSite {
  readonly port: number
  readonly upstreamPort: number
  readonly directory: string
  /** Where it asks about tokens; null: it does not. */
  readonly introspection: string | null
  /** Where it sends spans; null: it does not. */
  readonly receiver: string | null
  /** The Redis that it uses; null: it uses none. */
  readonly redis: string | null
}

const { apiKeys } = JSON.parse(clientsText(1))[0]

/** Writes the file of a level. */
export const renderLevelConfig = (level: Level, place: LevelSite): string =>
  textOf(level, place)
    .replaceAll('DIRECTORY', place.directory)
    .replaceAll('INTROSPECTION', place.introspection ?? '')
    .replaceAll('RECEIVER', place.receiver ?? '')
    .replaceAll('REDIS', place.redis ?? '')
    .replaceAll('ISSUER', issuer)
    .replaceAll('AUDIENCE', audience)
    .replaceAll('KEY', JSON.stringify(apiKeys[0]))

const tls = `  tls:
    certificates: [{ certificate: "file:DIRECTORY/tls.pem", key: "file:DIRECTORY/tls.pem.key" }]
    clientCertificates: required
    clientCa: "file:DIRECTORY/clients-ca.pem"
`

const textOf = (level: Level, { port, upstreamPort }: LevelSite): string => {
  const on = { ...off, ...level.on }
  const { client, idempotency, candidate } = on
  const listen = `  publicUrl: ${publicUrl}\n${level.tls ? tls : ''}`
  return `${gatewayFile(port, { tls: listen })}requestId: { header: ${on.requestId} }
log: { access: ${on.access} }
audit: ${on.audit}
tracing: ${on.tracing}
metrics: ${on.metrics}
contract: ${on.contract}
${idempotency === '' ? '' : `idempotency: ${idempotency}\n`}limits:
  concurrency: ${on.concurrency}
  address: ${on.address}
  eventLoopDelay: ${on.eventLoopDelay}
auth: ${on.auth}
${client === '' ? '' : `clients: [{ id: bank-a, operations: all, ${client} }]\n`}defaults:
  concurrency: ${on.upstreamConcurrency}
  maxBody: ${on.maxBody}
  deadline: ${on.deadline}
  retry: ${on.retry}
operations:
  analysis.esg-grant: { auth: none }
  ${get.operation.id}: { concurrency: ${on.upstreamConcurrency} }
  ${post.operation.id}: { idempotency: ${idempotency !== ''} }
${behindEach(addresses(1), upstreamPort, candidate === '' ? '' : candidateWith(candidate, upstreamPort))}`
}

const candidateWith = (keys: string, port: number): string =>
  `candidate: { endpoints: [${addresses(1).map((host) => `"http://${host}:${port}"`)}], ${keys} }`
