import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { ProcessParts, RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import type { ContractMode } from './check/compiled-contract.ts'
import { type ContractValidators, createValidators } from './check/validators.ts'
import { type CheckQueue, createCheckQueue } from './check-queue.ts'
import { createDriftCounts, type DriftCounts } from './drift-counts.ts'
import { type MessageDirection, messageDirections } from './drift-report.ts'
import { enforceRequestLayer, reportRequestLayer } from './request-contract.ts'
import { createClientFields, enforceResponseLayer, reportResponseLayer } from './response-contract.ts'

interface ContractPart extends SnapshotPart {
  readonly driftCounts: DriftCounts | null
}

declare module '../../core/runtime/runtime-part.ts' {
  interface ProcessParts {
    readonly contract: ProcessPart & { readonly checks: CheckQueue }
  }
  interface SnapshotParts {
    readonly contract?: ContractPart
  }
}

type ActiveMode = Exclude<ContractMode, 'off'>

const layerRows = (
  operation: Operation,
  { operations }: Config,
  make: (operation: Operation, direction: MessageDirection, mode: ActiveMode) => Layer | null,
): readonly LayerRow[] => {
  const { id } = operation
  const own = operations[id].contract
  const format = (mode: ActiveMode): string =>
    mode === 'enforce' && own.unchecked === 'reject' ? 'enforce, unchecked: reject' : mode
  return messageDirections.map((direction) => {
    const mode = own[direction] === 'off' ? null : own[direction]
    const key = `operations.${id}.contract.${direction}`
    return layerRow(`${direction}-contract`, key, mode, format, (held) => make(operation, direction, held), 'off')
  })
}

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => layerRows(operation, config, () => null),
})

export const open = ({ log }: Parameters<RuntimePart['open']>[0]): ProcessParts['contract'] => {
  const validatorsOf = keepValidators()
  const checks = createCheckQueue((err) => {
    if (log !== null) log.error({ err }, 'contract check failed')
  })
  return {
    checks,
    acquire({ config }, previous, { parts }): ContractPart {
      const driftCounts = carryDriftCounts(config.compiledContract, previous as ContractPart | null)
      const validators = validatorsOf(config)
      const make = (operation: Operation, direction: MessageDirection, mode: ActiveMode): Layer | null => {
        const { compiledContract, contract, operations } = config
        const own = compiledContract?.operations[operation.id]
        if (validators === null || driftCounts === null || contract === null || own === undefined) return null
        const { maxBody: maxBytes, sample } = contract
        const rejectsUnchecked = operations[operation.id].contract.unchecked === 'reject'
        const options = { validators, driftCounts, checks, maxBytes, rejectsUnchecked, sample }
        const isEnforced = mode === 'enforce'
        if (direction === 'request')
          return (isEnforced ? enforceRequestLayer : reportRequestLayer)(own.request, options)
        if (own.responses.length === 0) return null
        const clientFields = createClientFields(operation, config, Object.values(parts))
        return (isEnforced ? enforceResponseLayer : reportResponseLayer)(own.responses, { ...options, clientFields })
      }
      return { driftCounts, layers: (operation) => layerRows(operation, config, make) }
    },
  }
}

const carryDriftCounts = (contract: Config['compiledContract'], before: ContractPart | null): DriftCounts | null => {
  if (contract === null) return null
  const counts = before?.driftCounts ?? null
  return counts?.digest === contract.digest ? counts : createDriftCounts(contract.digest)
}

/** Validators outlive edits of anything but the contract. */
const keepValidators = (): ((config: Config) => ContractValidators | null) => {
  let last: { readonly digest: string; readonly validators: ContractValidators } | null = null
  return ({ compiledContract, operations }) => {
    const isUsed = Object.values(operations).some(
      ({ contract: { request, response } }) => request !== 'off' || response !== 'off',
    )
    if (compiledContract === null || !isUsed) return null
    if (last?.digest !== compiledContract.digest)
      last = { digest: compiledContract.digest, validators: createValidators(compiledContract) }
    return last.validators
  }
}
