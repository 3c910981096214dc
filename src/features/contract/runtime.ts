import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { ProcessPart, RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import { CheckQueue } from './check-queue.ts'
import {
  type ActiveMode,
  type ContractResources,
  createRequestContractLayer,
  createResponseContractLayer,
} from './contract-layers.ts'
import { ContractValidatorsCache } from './contract-validators.ts'
import { DriftCounts } from './drift-counts.ts'

interface ContractProcess extends ProcessPart {
  readonly checks: CheckQueue
}

interface ContractPart extends SnapshotPart {
  /** Null: there is no contract. */
  readonly driftCounts: DriftCounts | null
}

declare module '../../core/runtime/runtime-part.ts' {
  interface ProcessParts {
    readonly contract: ContractProcess
  }
  interface SnapshotParts {
    readonly contract: ContractPart
  }
}

const layerRows = (
  { id }: Operation,
  { operations }: Config,
  make: (direction: 'request' | 'response', mode: ActiveMode) => Layer | null,
): readonly LayerRow[] => {
  const own = operations[id].contract
  const format = (mode: ActiveMode): string =>
    mode === 'enforce' && own.unchecked === 'refuse' ? 'enforce, unchecked: refuse' : mode
  return (['request', 'response'] as const).map((direction) => {
    const mode = own[direction] === 'off' ? null : own[direction]
    const key = `operations.${id}.contract.${direction}`
    return layerRow(`${direction}-contract`, key, mode, format, (held) => make(direction, held), 'off')
  })
}

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => layerRows(operation, config, () => null),
})

export const open = ({ log }: Parameters<RuntimePart['open']>[0]): ContractProcess => {
  const compiled = new ContractValidatorsCache()
  const checks = new CheckQueue((err) => {
    if (log !== null) log.error({ err }, 'contract check failed')
  })
  return {
    checks,
    acquire({ config }, previous, { parts }): ContractPart {
      const driftCounts = carryDriftCounts(config.compiledContract, previous as ContractPart | null)
      const validators = compiled.get(config)
      const resources: ContractResources | null = validators && driftCounts && { validators, driftCounts, checks }
      return {
        driftCounts,
        layers: (operation) =>
          layerRows(operation, config, (direction, mode) =>
            direction === 'request'
              ? createRequestContractLayer(operation, config, resources, mode)
              : createResponseContractLayer(operation, config, resources, mode, Object.values(parts)),
          ),
      }
    },
  }
}

/** They stay as long as the contract is the same: what broke another one says nothing. */
const carryDriftCounts = (contract: Config['compiledContract'], before: ContractPart | null): DriftCounts | null => {
  if (contract === null) return null
  const counts = before?.driftCounts ?? null
  return counts?.digest === contract.digest ? counts : new DriftCounts(contract.digest)
}
