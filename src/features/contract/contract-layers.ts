import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import type { SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import type { ContractMode } from './check/compiled-contract.ts'
import type { ContractLayerOptions } from './contract-options.ts'
import { enforceRequestLayer, reportRequestLayer } from './request-contract.ts'
import { type ClientFields, enforceResponseLayer, reportResponseLayer } from './response-contract.ts'

export type ContractResources = Pick<ContractLayerOptions, 'validators' | 'driftCounts' | 'checks'>

export type ActiveMode = Exclude<ContractMode, 'off'>

/** Creates the layer that holds requests to the contract; null: it says nothing of the operation. */
export const createRequestContractLayer = (
  { id }: Operation,
  config: Config,
  resources: ContractResources | null,
  mode: ActiveMode,
): Layer | null => {
  const layerOptions = toLayerOptions(id, config, resources)
  const contract = config.compiledContract?.operations[id]
  if (layerOptions === null || contract === undefined) return null
  return (mode === 'enforce' ? enforceRequestLayer : reportRequestLayer)(contract.request, layerOptions)
}

/** Creates the layer that holds responses to the contract; null: it says nothing of them. */
export const createResponseContractLayer = (
  operation: Operation,
  config: Config,
  resources: ContractResources | null,
  mode: ActiveMode,
  parts: readonly SnapshotPart[],
): Layer | null => {
  const layerOptions = toLayerOptions(operation.id, config, resources)
  const contract = config.compiledContract?.operations[operation.id]
  if (layerOptions === null || contract === undefined || contract.responses.length === 0) return null
  return (mode === 'enforce' ? enforceResponseLayer : reportResponseLayer)(contract.responses, {
    ...layerOptions,
    clientFields: createClientFields(operation, config, parts),
  })
}

/**
 * Lists what layers outside the contract's, and the writer of responses, make of the fields of an operation's
 * responses.
 */
export const createClientFields = (
  operation: Operation,
  { requestId }: Pick<Config, 'requestId'>,
  parts: readonly Pick<SnapshotPart, 'responseFields'>[],
): ClientFields => {
  const added = parts.flatMap((part) => part.responseFields?.(operation) ?? [])
  return {
    requestIdField: requestId.header,
    replaced: new Set(added.flatMap(({ name, isReplaced }) => (isReplaced === true ? [name] : []))),
    later: new Set(['via', 'date', ...added.map(({ name }) => name)]), // RFC 9110 §7.6.3, §6.6.1
  }
}

const toLayerOptions = (
  id: Operation['id'],
  { contract, operations }: Config,
  resources: ContractResources | null,
): ContractLayerOptions | null =>
  resources &&
  contract && {
    ...resources,
    maxBytes: contract.maxBody,
    refusesUnchecked: operations[id].contract.unchecked === 'refuse',
    sample: contract.sample,
  }
