import type { StatusText } from '../../core/cli/built-in-command.ts'
import { formatAgo } from '../../core/cli/render/format-time.ts'
import { formatTable, renderCounts, type TableRow } from '../../core/cli/render/table.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import type { ContractStatus } from './status.ts'

/**
 * Renders how many messages of each operation keep the contract, and since when they are counted; what needs an
 * operator is in capitals. Operations that the contract does not name are not in it: a warning says how many they are.
 * Null: every operation says off, or is not in the contract.
 */
export const renderContractCounts = (contract: ContractStatus, at: number): string | null => {
  const rows = contractRows(contract)
  if (rows.length === 1) return null
  const { countedSince } = contract
  return formatTable(rows) + (countedSince === null ? '' : `\ncounted since ${formatAgo(countedSince, at)}`)
}

const contractRows = ({ operations }: ContractStatus): readonly TableRow[] => [
  ['contract', 'messages', 'mode', 'checked', 'broken', 'rejected', 'unchecked'],
  ...Object.entries(operations).flatMap(([id, { line, request, response }]): TableRow[] => {
    const heldTo = [['requests', request] as const, ['responses', response] as const].filter(
      ([, { mode }]) => line !== null && mode !== 'off',
    )
    return heldTo.map(([messages, { mode, checked, broken, rejected, unchecked }]) => {
      const brokenText = broken === 0 ? '0' : `${broken} (${formatShare(broken, checked)})`
      return [id, messages, mode, `${checked}`, brokenText, `${rejected}`, renderCounts(unchecked)]
    })
  }),
]

export const texts: readonly StatusText[] = [
  {
    before: 'certificates',
    key: 'contract',
    render: ({ contract }, at) => contract && renderContractCounts(contract, at),
  },
]
