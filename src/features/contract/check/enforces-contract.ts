import type { OperationId } from '../../../operations.ts'
import type { CompiledContract, ContractMode } from './compiled-contract.ts'

interface ContractSettings {
  readonly compiledContract: CompiledContract | null
  readonly operations: Readonly<
    Record<OperationId, { readonly contract: { readonly request: ContractMode; readonly response: ContractMode } }>
  >
}

export const enforcesContract = (
  { operations, compiledContract }: ContractSettings,
  id: OperationId,
  direction: 'request' | 'response',
): boolean => operations[id].contract[direction] === 'enforce' && compiledContract?.operations[id] !== undefined
