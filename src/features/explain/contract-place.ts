import { dirname, isAbsolute, join } from 'node:path'
import type { Config } from '../../core/config/config.ts'
import type { OperationId } from '../../operations.ts'

/** What the contract says of an operation, for one of the two layers that hold messages to it. */
export interface ContractPlace {
  /** The path of the contract, as the configuration has it. */
  readonly file: string
  /** Where the operation stands in it; null: it does not. */
  readonly line: number | null
  /** Why nothing is checked, whatever the mode says; null: messages are checked. */
  readonly offBecause: string | null
}

/** Finds the place of a layer in the contract; null: it holds nothing to one, or none is configured. */
export const findContractPlace = (
  layer: string,
  id: OperationId,
  { contract, compiledContract, operations }: Config,
): ContractPlace | null => {
  const file = contract?.file ?? null
  if (file === null || (layer !== 'request-contract' && layer !== 'response-contract')) return null
  const own = compiledContract?.operations[id]
  if (own === undefined) return { file, line: null, offBecause: 'the contract does not name the operation' }
  const { line, responses } = own
  const mode = operations[id].contract[layer === 'request-contract' ? 'request' : 'response']
  if (mode === 'off') return { file, line, offBecause: null }
  const hasNone = layer === 'response-contract' && responses.length === 0
  return { file, line, offBecause: hasNone ? 'the contract has no responses of the operation' : null }
}

/** Formats the place for operators; a relative path starts at the folder of the configuration, `configFile`. */
export const formatContractPlace = ({ file, line }: ContractPlace, configFile: string): string => {
  const path = isAbsolute(file) ? file : join(dirname(configFile), file)
  return line === null ? path : `${path}:${line}`
}
