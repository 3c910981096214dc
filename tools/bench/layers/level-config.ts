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
export interface Switches {
  readonly eventLoopDelay: string
  readonly concurrency: string
  readonly upstreamConcurrency: string
  readonly address: string
  readonly auth: string
  /** What is said of the one client beside what it may call; empty: there is none. */
  readonly client: string
  readonly maxBody: string
  readonly deadline: string
  readonly retry: string
  readonly access: string
  readonly audit: string
  readonly requestId: string
  readonly tracing: string
  readonly metrics: string
  readonly contract: string
  /** What is the same for all operations that have it; empty: none has it. */
  readonly idempotency: string
  /** What is said of a candidate at the same place beside where it is; empty: there is no candidate. */
  readonly candidate: string
}

const off: Switches = {
  eventLoopDelay: 'none',
  concurrency: 'none',
  upstreamConcurrency: 'none',
  address: 'none',
  auth: 'none',
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
  idempotency: '',
  candidate: '',
}

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
  const {
    eventLoopDelay,
    concurrency,
    upstreamConcurrency,
    address,
    auth,
    client,
    maxBody,
    deadline,
    retry,
    access,
    audit,
    requestId,
    tracing,
    metrics,
    contract,
    idempotency,
    candidate,
  } = { ...off, ...level.on }
  const listen = `  publicUrl: ${publicUrl}\n${level.tls ? tls : ''}`
  return `${gatewayFile(port, { tls: listen })}requestId: { header: ${requestId} }
log: { access: ${access} }
audit: ${audit}
tracing: ${tracing}
metrics: ${metrics}
contract: ${contract}
${idempotency === '' ? '' : `idempotency: ${idempotency}\n`}limits: { concurrency: ${concurrency}, address: ${address}, eventLoopDelay: ${eventLoopDelay} }
auth: ${auth}
${client === '' ? '' : `clients: [{ id: bank-a, operations: all, ${client} }]\n`}defaults: { concurrency: ${upstreamConcurrency}, maxBody: ${maxBody}, deadline: ${deadline}, retry: ${retry} }
operations:
  analysis.esg-grant: { auth: none }
  ${get.operation.id}: { concurrency: ${upstreamConcurrency} }
  ${post.operation.id}: { idempotency: ${idempotency !== ''} }
${behindEach(addresses(1), upstreamPort, candidate === '' ? '' : candidateWith(candidate, upstreamPort))}`
}

const candidateWith = (keys: string, port: number): string =>
  `candidate: { endpoints: [${addresses(1).map((host) => `"http://${host}:${port}"`)}], ${keys} }`
