import { allOperations } from '../../operations.ts'
import { formatSize } from '../../units.ts'
import type { WarningRule } from '../rules/rule.ts'

/** Warns of enforced operations where what cannot be checked passes: a client can bring that about. */
const passedUnchecked: WarningRule = ({ config: { contract, compiledContract, operations } }) => {
  const affected = allOperations.filter(({ id }) => {
    const { request, response, unchecked } = operations[id].contract
    const isEnforced = request === 'enforce' || response === 'enforce'
    return isEnforced && unchecked === 'pass' && compiledContract?.operations[id] !== undefined
  })
  return (
    contract !== null &&
    affected.length > 0 && {
      path: ['contract', 'unchecked'],
      message: `what cannot be checked passes, though the contract is enforced: ${affected.map(({ id }) => id).join(', ')}`,
      expected: 'refuse',
      found: 'pass',
      hint: `write unchecked: refuse; coded bodies and those over ${formatSize(contract.maxBody)} then get 413, 415 or 502`,
    }
  )
}

/** Warns of an operation with modes of its own that the contract leaves out. */
const unusedModes: WarningRule = ({ parsed: { operations }, config: { compiledContract } }) =>
  compiledContract !== null &&
  allOperations.map(
    ({ id }) =>
      operations[id]?.contract !== undefined &&
      compiledContract.operations[id] === undefined && {
        path: ['operations', id, 'contract'],
        message: 'this does nothing: the contract does not have the operation',
        expected: 'the operation in the file of the contract',
        found: 'none',
        hint: 'add it there, or remove this line',
      },
  )

const uselessModes: WarningRule = ({ parsed: { operations }, config: { compiledContract } }) =>
  compiledContract === null &&
  allOperations.map(
    ({ id }) =>
      operations[id]?.contract !== undefined && {
        path: ['operations', id, 'contract'],
        message: 'this does nothing: there is no contract',
        expected: 'contract: { file: contract.yaml }, or no contract here',
        found: 'none',
        hint: 'add contract: { file: contract.yaml } at the top of the file, or remove this line',
      },
  )

/** Warns of modes for all nine that enforce nothing, as when learning has taken the place of a file. */
const enforcedWithoutFile: WarningRule = ({ config: { contract } }) =>
  contract !== null &&
  contract.file === null &&
  (['request', 'response'] as const).map(
    (direction) =>
      contract[direction] === 'enforce' && {
        path: ['contract', direction],
        message: 'this enforces nothing: no file says what the contract is',
        expected: 'file: contract.yaml beside it, or no mode',
        found: 'enforce',
        hint: 'add file: contract.yaml, which may stand beside learn: true, or remove the mode',
      },
  )

/** The warnings of the contract: what is enforced in part or not at all. */
export const contractWarnings: readonly WarningRule[] = [
  passedUnchecked,
  unusedModes,
  uselessModes,
  enforcedWithoutFile,
]
