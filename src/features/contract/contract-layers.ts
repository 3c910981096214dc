import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import type { Operation } from '../../operations.ts'
import type { CandidateUse } from '../candidate/shift/candidate-use.ts'
import { type ContractLearningOptions, contractLearningLayer } from '../contract-learning/layer.ts'
import { type ContractMode, defaultMaxCheckedBytes, type UncheckedMode } from './check/compiled-contract.ts'
import type { ContractLayerOptions } from './contract-options.ts'
import { enforceRequestLayer, reportRequestLayer } from './request-contract.ts'
import { type ClientFields, enforceResponseLayer, reportResponseLayer } from './response-contract.ts'

type ContractResources = Pick<ContractLayerOptions, 'validators' | 'driftCounts' | 'checks'>

interface ContractStackOptions {
  readonly operation: Operation
  readonly config: Config
  /** The validators of the contract. Null: nothing is held to one, or the handler serves no traffic. */
  readonly contract: ContractResources | null
  /** What the contract is learnt with. Null: nothing is learnt, or the handler serves no traffic. */
  readonly learning: Pick<ContractLearningOptions, 'learner' | 'checks'> | null
}

export interface ResponseStackOptions extends ContractStackOptions {
  /** Which clients of the operation's group are on its candidate. Null: none are. */
  readonly candidateUse: CandidateUse | null
}

export type ActiveMode = Exclude<ContractMode, 'off'>

/** Returns the mode in which messages are held to the contract; null: they are not. */
export const heldTo = (mode: ContractMode): ActiveMode | null => (mode === 'off' ? null : mode)

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
export const createResponseContractLayer = (options: ResponseStackOptions, mode: ActiveMode): Layer | null => {
  const layerOptions = toLayerOptions(options)
  const contract = options.config.compiledContract?.operations[options.operation.id]
  if (layerOptions === null || contract === undefined || contract.responses.length === 0) return null
  return (mode === 'enforce' ? enforceResponseLayer : reportResponseLayer)(contract.responses, {
    ...layerOptions,
    clientFields: createClientFields(options),
  })
}

/**
 * Lists what layers outside the contract's, and the writer of responses, make of the fields of an operation's
 * responses.
 */
export const createClientFields = ({
  operation: { id, group },
  config: { requestId, tracing, operations, upstreams },
  candidateUse,
}: Pick<ResponseStackOptions, 'operation' | 'config' | 'candidateUse'>): ClientFields => {
  const expose = candidateUse === null ? null : (upstreams[group].candidate?.expose?.toLowerCase() ?? null)
  const side = expose === null ? [] : [expose]
  return {
    requestIdField: requestId.header,
    replaced: new Set(side),
    later: new Set([
      ...['via', 'date'], // RFC 9110 §7.6.3, §6.6.1
      ...(tracing?.serverTiming === true ? ['server-timing'] : []),
      ...(operations[id].cache === null ? [] : ['cache-status']),
      ...side,
    ]),
  }
}

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
