import type { CompiledContract } from '../../contract/compiled-contract.ts'
import { byGroup, byOperation, type Group, type OperationId } from '../../operations.ts'
import type {
  ClientConfig,
  ClientsSource,
  Config,
  OperationAuthConfig,
  OperationConfig,
  OperationIdempotencyConfig,
} from '../config.ts'
import { hashConfig } from '../config-hash.ts'
import type { ParsedConfig } from '../config-schema.ts'
import { mergeLevels } from '../schema/inheritance.ts'
import { idempotencyPolicyKeys } from '../sections/idempotency.ts'
import { resolveUpstream } from './resolve-upstream.ts'
import { clientsDigest } from './serialize-clients.ts'

type ParsedUpstream = ParsedConfig['upstreams'][Group]
type ParsedOperation = NonNullable<ParsedConfig['operations'][OperationId]>

/** The clients of all files of a configuration. */
interface ListedClients {
  readonly clients: readonly ClientConfig[]
  readonly parts: ClientsSource['parts']
}

/** Merges the levels (operation > upstream > defaults > built-in) into a configuration, which is not frozen yet. */
export function resolveConfig(
  parsed: ParsedConfig,
  { clients, parts }: ListedClients = { clients: [], parts: [] },
  compiledContract: CompiledContract | null = null,
): Config {
  const { version: _, defaults, upstreams, operations, ...sections } = parsed
  const settings: Omit<Config, 'hash'> = {
    ...sections,
    clients,
    clientsSource: { parts, digest: clientsDigest(clients) },
    compiledContract,
    upstreams: byGroup((group) => resolveUpstream(upstreams[group], defaults)),
    operations: byOperation(({ id, group }) => resolveOperation(operations[id], upstreams[group], parsed)),
  }
  return { hash: hashConfig(settings), ...settings }
}

const resolveOperation = (
  given: ParsedOperation | undefined,
  upstream: ParsedUpstream,
  { defaults, auth, contract, idempotency }: ParsedConfig,
): OperationConfig => ({
  state: given?.state ?? 'serve',
  deadline: firstStated(given?.deadline, upstream.deadline, defaults.deadline),
  maxBody: firstStated(given?.maxBody, upstream.maxBody, defaults.maxBody),
  concurrency: given?.concurrency ?? null,
  auth: resolveOperationAuth(given?.auth, auth),
  cache: given?.cache ?? null,
  idempotency: resolveIdempotency(given?.idempotency ?? false, idempotency),
  contract:
    contract === null || contract.file === null
      ? { request: 'off', response: 'off', unchecked: 'pass' }
      : {
          request: given?.contract?.request ?? contract.request,
          response: given?.contract?.response ?? contract.response,
          unchecked: given?.contract?.unchecked ?? contract.unchecked,
        },
})

/** Resolves how a POST happens once, with the keys of all operations as defaults; null: it is not seen to. */
const resolveIdempotency = (
  given: NonNullable<ParsedOperation['idempotency']>,
  defaults: ParsedConfig['idempotency'],
): OperationIdempotencyConfig | null => {
  if (given === false) return null
  const policy = Object.fromEntries(
    idempotencyPolicyKeys.map((key) => [key, defaults[key]]),
  ) as OperationIdempotencyConfig
  return mergeLevels<OperationIdempotencyConfig>(given === true ? {} : given, policy)
}

/** Resolves the authentication that an operation requires, with that of all operations as its default; null: none. */
const resolveOperationAuth = (
  given: ParsedOperation['auth'],
  globalAuth: ParsedConfig['auth'],
): OperationAuthConfig | null => {
  if (given === null || globalAuth === null) return null
  return { methods: given?.methods ?? globalAuth.methods, scopes: given?.scopes ?? [], claims: given?.claims ?? {} }
}

/** Takes the first level that states a value. `null` means "no limit", and wins like any other value. */
function firstStated<T>(...levels: readonly (T | undefined)[]): T {
  for (const level of levels) if (level !== undefined) return level
  throw new TypeError('the last level has a value for everything')
}
