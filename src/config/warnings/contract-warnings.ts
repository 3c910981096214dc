import { allOperations } from '../../operations.ts'
import { formatSize } from '../../units.ts'
import type { WarningRule } from '../rules/rule.ts'

/** Warns of bodies that an operation takes, but that are too large for the contract: they pass unchecked. */
const uncheckedBodies: WarningRule = ({ config: { contract, compiledContract, operations } }) => {
  if (contract === null) return null
  const affected = allOperations.filter(({ id }) => {
    const { maxBody, contract: modes } = operations[id]
    const hasBody =
      compiledContract?.operations[id]?.request.body !== null && id in (compiledContract?.operations ?? {})
    return modes.request === 'enforce' && hasBody && (maxBody === null || maxBody > contract.maxBody)
  })
  const [first] = affected
  if (first === undefined) return null
  const { maxBody } = operations[first.id]
  return {
    path: ['contract', 'maxBody'],
    message: `larger bodies pass unchecked, though the contract is enforced: ${affected.map(({ id }) => id).join(', ')}`,
    expected: 'maxBody of these operations at or below contract.maxBody',
    found: `${maxBody === null ? 'none' : formatSize(maxBody)} above ${formatSize(contract.maxBody)}`,
    hint: `write maxBody: ${formatSize(contract.maxBody)} under these operations or under defaults`,
  }
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
  uncheckedBodies,
  unusedModes,
  uselessModes,
  enforcedWithoutFile,
]
