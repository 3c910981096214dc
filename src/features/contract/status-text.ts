import type { StatusText } from '../../core/admin/admin-part.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatTable, renderCounts, type TableRow } from '../../core/lib/text/table.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import type { ContractStatus } from './status.ts'

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
