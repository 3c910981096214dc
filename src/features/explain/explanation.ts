import type { ExplainedSide, NameKey } from '../../core/cli/built-in-command.ts'
import { cliError } from '../../core/cli/client/admin-target.ts'
import { formatJson } from '../../core/cli/render/output.ts'
import type { Config } from '../../core/config/config.ts'
import { authenticates, listClientNames } from '../../core/config/config-facts.ts'
import type { LoadedConfig } from '../../core/config/load/load.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { type FailureKind, failureTable } from '../../core/exchange/failures/failure-table.ts'
import { isIP } from '../../core/lib/net/addresses.ts'
import type { Operation } from '../../operations.ts'
import { explainParts } from './global-settings.ts'
import { type LiveState, toLiveJson } from './live-state.ts'
import { collectOperationDetails, type ExplainedSetting, type UpstreamDetails } from './operation-details.ts'
import { explainRejection, type RejectionExplanation, simulateRequest } from './rejection.ts'

interface ClientSide extends ExplainedSide {
  readonly client: string
}

interface Rejection extends RejectionExplanation {
  readonly kind: FailureKind
  readonly status: number
  readonly allow: string | null
}

interface LiveFacts {
  readonly notReady: LiveState['notReady']
  /** The line of the file that rejects an operation which the gateway serves. */
  readonly overruled: string | null
}

const notAsked: LiveFacts = { notReady: null, overruled: null }

export type Explanation = ReturnType<typeof explainRequest>

/** `client`: a name or an address. Throws a {@link cliError} for an unknown client. */
export const explainRequest = (
  method: string,
  target: string,
  file: string,
  { config, provenance }: LoadedConfig,
  client: string | null = null,
) => {
  const { listen, hash } = config
  if (client !== null) requireClient(client, config)
  const nameKey = createKeyLocator(file, provenance)
  const simulated = simulateRequest(method, target, listen)
  const { operation, query, authority } = simulated.admitted
    ? simulated
    : { operation: null, query: '', authority: null }
  return {
    ...{ method, target, file, hash, basePath: listen.basePath, operation, ...notAsked },
    query,
    /** The host of an absolute-form target, which precedes the Host field. */
    authority: target.startsWith('/') ? null : authority,
    rejected: simulated.admitted
      ? rejectedByFile(client, simulated.operation, config, nameKey)
      : toRejection(simulated, explainRejection(simulated, method, target, listen, nameKey)),
    details: operation && collectOperationDetails(operation, config, provenance),
    /** Null: no client was given, or there is no operation. */
    side: operation && client !== null ? explainSide(client, operation, config, nameKey) : null,
  }
}

const requireClient = (client: string, config: Config): void => {
  const names = listClientNames(config)
  if (isIP(client) !== 0 || names.includes(client)) return
  const near = suggestNearest(client, names)
  throw cliError(
    `--client: ${client} is neither an address nor the name of one under clients${near === undefined ? '' : `; probably meant: ${near}`}`,
  )
}

/** Throws a {@link cliError} for a name where the operation does not authenticate, or an address where it does. */
const explainSide = (client: string, operation: Operation, config: Config, nameKey: NameKey): ClientSide => {
  const { id } = operation
  const isNamed = listClientNames(config).includes(client)
  const asksWhoItIs = authenticates(config.operations[id])
  if (isNamed && !asksWhoItIs)
    throw cliError(`--client: ${id} has no auth, so the address of a client decides its side: write the address`)
  if (!isNamed && asksWhoItIs)
    throw cliError(`--client: ${id} has auth, so the name of a client decides its side: write the name`)
  const [side] = explainParts.flatMap((part) => part.findSide?.({ client, isNamed }, operation, config, nameKey) ?? [])
  return { client, ...(side ?? { side: 'primary', why: 'the group has no candidate', bucket: null }) }
}

const createKeyLocator =
  (file: string, provenance: LoadedConfig['provenance']) =>
  (key: string): string => {
    const { source, line } = provenance.get(key) ?? { source: 'built-in', line: 0 }
    return line === 0 ? `${key} (${source})` : `${key} (${file}:${line})`
  }

/** A gateway that runs another configuration is ignored: its candidate may differ. */
export const withLiveSide = (
  explanation: Explanation,
  { config, provenance }: LoadedConfig,
  live: LiveState | null,
): Explanation => {
  const { side, operation, hash, file } = explanation
  const { upstream, at } = live ?? { upstream: null, at: 0 }
  if (side === null || operation === null || upstream === null || live?.hash !== hash) return explanation
  const nameKey = createKeyLocator(file, provenance)
  const client = { client: side.client, isNamed: listClientNames(config).includes(side.client) }
  const [now] = explainParts.flatMap(
    (part) => part.findSideNow?.(client, operation, config, nameKey, { upstream, at }) ?? [],
  )
  return now === undefined ? explanation : { ...explanation, side: { client: side.client, ...now } }
}

/** An operator's command precedes the file, and so does a running configuration that differs. */
export const withLiveRejection = (
  explanation: Explanation,
  { config, provenance }: LoadedConfig,
  live: LiveState | null,
): Explanation => {
  const { operation, rejected, side, file } = explanation
  if (live === null || operation === null) return explanation
  const { notReady } = live
  const now = rejectedNow(live, operation)
  if (rejected?.kind !== 'rejected-by-operator') return { ...explanation, notReady, rejected: now ?? rejected }
  if (now !== null) return { ...explanation, notReady }
  const locateKey = createKeyLocator(file, provenance)
  const overruled = locateKey(`operations.${operation.id}.state`)
  return {
    ...{ ...explanation, notReady, overruled },
    rejected: rejectedToClient(side?.client ?? null, operation, config, locateKey),
  }
}

const rejectedNow = ({ notReady, operation }: LiveState, { id }: Operation): Rejection | null => {
  if (notReady === 'audit-unavailable')
    return rejection(notReady, failureTable[notReady].text, 'status says why the audit log cannot be written')
  if (operation?.state !== 'reject') return null
  const { until, setBy, setReason } = operation
  return until === null
    ? rejection('rejected-by-operator', 'the configuration that runs rejects it', 'reload takes the file')
    : rejection(
        'rejected-by-operator',
        `${setBy ?? 'an operator'} rejects every request until ${until}${setReason === null ? '' : `: ${setReason}`}`,
        `operation serve ${id} ends that`,
      )
}

const toRejection = (
  { kind, allow }: Pick<Rejection, 'kind' | 'allow'>,
  { differs, meant, hint }: RejectionExplanation,
): Rejection => ({ kind, status: failureTable[kind].status, allow, differs, meant, hint })

const rejection = (kind: FailureKind, why: string, hint: string): Rejection =>
  toRejection({ kind, allow: null }, { differs: [why], meant: null, hint })

const rejectedByFile = (client: string | null, operation: Operation, config: Config, nameKey: NameKey) => {
  const { id } = operation
  if (config.operations[id].state !== 'reject') return rejectedToClient(client, operation, config, nameKey)
  const why = `the operator has taken it out of service: ${nameKey(`operations.${id}.state`)}`
  return rejection('rejected-by-operator', why, 'write "state: serve" there, or remove the line')
}

const rejectedToClient = (
  client: string | null,
  operation: Operation,
  config: Config,
  nameKey: NameKey,
): Rejection | null => {
  if (client === null) return null
  const [rejected] = explainParts.flatMap((part) => part.rejectClient?.(client, operation, config, nameKey) ?? [])
  return rejected === undefined ? null : rejection('forbidden', rejected.why, rejected.hint)
}

export const isForwarded = ({ rejected, notReady }: Explanation): boolean => rejected === null && notReady === null

export const renderExplanationJson = (explanation: Explanation, live: LiveState | null = null): string => {
  const { method, target, file, hash, operation, query, authority, rejected, details, side } = explanation
  const toPosition = ({ provenance }: Pick<ExplainedSetting, 'provenance'>) => ({
    level: provenance.source,
    line: provenance.line === 0 ? null : provenance.line,
    column: provenance.line === 0 ? null : provenance.column,
  })
  const settings =
    details === null
      ? []
      : [...details.upstream, ...(details.other?.upstream ?? []), ...details.operation, ...details.globals]
  const toUpstreamJson = ({ endpoints, weightMeans, fields }: Omit<UpstreamDetails, 'upstream'>) => ({
    endpoints: endpoints.map(({ provenance, ...share }) => ({ ...share, ...toPosition({ provenance }) })),
    weightMeans,
    fields: fields.map(({ what, key, value, provenance }) => ({ what, key, value, ...toPosition({ provenance }) })),
  })
  const json = {
    forwarded: rejected === null,
    method,
    target,
    file,
    hash,
    rejected: rejected && {
      status: rejected.status,
      code: rejected.kind,
      allow: rejected.allow,
      why: rejected.differs,
      meant: rejected.meant?.id ?? null,
      hint: rejected.hint,
    },
    operation,
    query,
    authority,
    ...(side && { side }),
    ...toUpstreamJson(details ?? { endpoints: [], weightMeans: null, fields: [] }),
    ...(details?.other && { [details.other.side]: toUpstreamJson(details.other) }),
    layers:
      details?.layers.map(({ name, key, value, on, provenance, place }) => ({
        name,
        on,
        key,
        value,
        ...toPosition({ provenance }),
        ...(place === null ? {} : { contract: place }),
      })) ?? [],
    settings: Object.fromEntries(
      settings.map(({ key, value, provenance }) => [key, { value, ...toPosition({ provenance }) }]),
    ),
    ...(live && { live: toLiveJson(live) }),
  }
  return formatJson(json)
}
