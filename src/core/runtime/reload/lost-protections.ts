import { enforcesContract } from '../../../features/contract/check/enforces-contract.ts'
import { messageDirections } from '../../../features/contract/drift-report.ts'
import { allOperations, groups, type OperationId } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'

/** A setting that is on or off, and keeps out attackers, or shows what they did. */
interface Protection {
  readonly path: string
  isOn(config: Config): boolean
}

// All that a rollback switches off by force alone. `listen.tls` and `auth.mtls` are not here: a rollback keeps them.
const protections = (): readonly Protection[] => [
  ...ofOperations('auth', ({ operations }, id) => operations[id].auth !== null),
  ...ofOperations('idempotency', ({ operations }, id) => operations[id].idempotency !== null),
  { path: 'audit', isOn: ({ audit }) => audit !== null },
  ...ofGroups('tls.verify', ({ tls }) => tls.verify),
  ...ofGroups('candidate.tls.verify', ({ candidate }) => candidate?.upstream.tls.verify ?? true),
  ...messageDirections.flatMap((direction) =>
    ofOperations(`contract.${direction}`, (config, id) => enforcesContract(config, id, direction)),
  ),
  ...ofOperations('contract.unchecked', refusesUnchecked),
]

const ofOperations = (key: string, isOn: (config: Config, id: OperationId) => boolean): readonly Protection[] =>
  allOperations.map(({ id }) => ({ path: `operations.${id}.${key}`, isOn: (config) => isOn(config, id) }))

const ofGroups = (key: string, isOn: (upstream: UpstreamConfig) => boolean): readonly Protection[] =>
  groups.map((group) => ({ path: `upstreams.${group}.${key}`, isOn: ({ upstreams }) => isOn(upstreams[group]) }))

/**
 * Lists the protections that the current configuration has and the next one lacks, by their keys. `auth` stands for all
 * operations where the next one has no authentication at all, and `contract.request`, `contract.response`
 * or `contract.unchecked` where it enforces that for none.
 */
export const findLostProtections = (current: Config, next: Config): readonly string[] => {
  const gone = messageDirections.filter(
    (direction) => !allOperations.some(({ id }) => enforcesContract(next, id, direction)),
  )
  const keys = [
    ...(next.auth === null ? ['auth'] : []),
    ...gone.map((direction) => `contract.${direction}`),
    ...(allOperations.some(({ id }) => refusesUnchecked(next, id)) ? [] : ['contract.unchecked']),
  ]
  const lost = protections()
    .filter(({ isOn }) => isOn(current) && !isOn(next))
    .map(({ path }) => path)
  return [...new Set(lost.map((path) => keys.find((key) => isOfAnOperation(path, key)) ?? path))]
}

const refusesUnchecked = (config: Config, id: OperationId): boolean =>
  config.operations[id].contract.unchecked === 'refuse' &&
  messageDirections.some((direction) => enforcesContract(config, id, direction))

const isOfAnOperation = (path: string, key: string): boolean =>
  path.startsWith('operations.') && path.endsWith(`.${key}`)
