import type { Config } from '../../config/config.ts'
import { type ContractMode, defaultMaxCheckedBytes, type UncheckedMode } from '../../contract/compiled-contract.ts'
import type { Layer } from '../../exchange.ts'
import { type ContractLearningOptions, contractLearningLayer } from '../../layers/contract/contract-learning.ts'
import type { ContractLayerOptions } from '../../layers/contract/contract-options.ts'
import { enforceRequestLayer, reportRequestLayer } from '../../layers/contract/request-contract.ts'
import { enforceResponseLayer, reportResponseLayer } from '../../layers/contract/response-contract.ts'
import type { Operation } from '../../operations.ts'

/** What the layers of the contract share in a process. */
export type ContractResources = Pick<ContractLayerOptions, 'validators' | 'driftCounts' | 'checks'>

/** What the layers of the contract of one operation are made from. */
export interface ContractStackOptions {
  readonly operation: Operation
  readonly config: Config
  /** The validators of the contract. Null: nothing is held to one, or the handler serves no traffic. */
  readonly contract: ContractResources | null
  /** What the contract is learnt with. Null: nothing is learnt, or the handler serves no traffic. */
  readonly learning: Pick<ContractLearningOptions, 'learner' | 'checks'> | null
}

/** A mode in which messages are held to the contract. */
export type ActiveMode = Exclude<ContractMode, 'off'>

/** Returns the mode in which messages are held to the contract; null: they are not. */
export const heldTo = (mode: ContractMode): ActiveMode | null => (mode === 'off' ? null : mode)

/** Formats a mode as `explain` shows it. */
export const formatMode = (mode: ActiveMode, unchecked: UncheckedMode): string =>
  mode === 'enforce' && unchecked === 'refuse' ? 'enforce, unchecked: refuse' : mode

/** Creates the layer that holds requests to the contract; null: it says nothing of the operation. */
export const createRequestContractLayer = (options: ContractStackOptions, mode: ActiveMode): Layer | null => {
  const layerOptions = toLayerOptions(options)
  const contract = options.config.compiledContract?.operations[options.operation.id]
  if (layerOptions === null || contract === undefined) return null
  return (mode === 'enforce' ? enforceRequestLayer : reportRequestLayer)(contract.request, layerOptions)
}

/** Creates the layer that holds responses to the contract; null: it says nothing of them. */
export const createResponseContractLayer = (options: ContractStackOptions, mode: ActiveMode): Layer | null => {
  const layerOptions = toLayerOptions(options)
  const contract = options.config.compiledContract?.operations[options.operation.id]
  if (layerOptions === null || contract === undefined || contract.responses.length === 0) return null
  return (mode === 'enforce' ? enforceResponseLayer : reportResponseLayer)(contract.responses, layerOptions)
}

/** Creates the layer that learns the contract; null: nothing is learnt. */
export const createLearningLayer = ({ learning, config }: ContractStackOptions): Layer | null =>
  learning && contractLearningLayer({ ...learning, maxBytes: config.contract?.maxBody ?? defaultMaxCheckedBytes })

const toLayerOptions = ({ contract, config, operation }: ContractStackOptions): ContractLayerOptions | null =>
  contract === null || config.contract === null
    ? null
    : {
        ...contract,
        maxBytes: config.contract.maxBody,
        refusesUnchecked: config.operations[operation.id].contract.unchecked === 'refuse',
        sample: config.contract.sample,
      }
