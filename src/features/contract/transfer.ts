import type { ConfigReport, ReportTree, ValueChange } from '../../core/config/diff/diff-values.ts'
import type { ConfigTransfer } from '../../core/config/transfer-part.ts'
import { modesWithoutContract } from './check/compiled-contract.ts'

/** A change of the contract's own mode is listed once, and not for each operation that follows it. */
const isInheritedMode = ({ path, from, to }: ValueChange, ...trees: readonly [ReportTree, ReportTree]): boolean => {
  const key = /^operations\..+\.contract\.(.+)$/.exec(path)?.[1]
  if (key === undefined) return false
  const [before, after] = trees.map(({ contract }) => {
    const own = Object(contract)
    return Object(own.file === undefined ? modesWithoutContract : own)[key]
  })
  return from === before && to === after
}

const contractDigests = (
  { path, from, to }: ValueChange,
  before: ConfigReport['digests'],
  after: ConfigReport['digests'],
): Partial<ValueChange> =>
  path === 'contract.file' && from === to
    ? { from: `${from}@${before[path] ?? 'unknown'}`, to: `${to}@${after[path] ?? 'unknown'}` }
    : {}

export const transfer: ConfigTransfer = {
  identify: ({ compiledContract }) => ({ compiledContract: compiledContract?.digest }),
  refineChange: (change, from, to) =>
    isInheritedMode(change, from.config, to.config)
      ? null
      : { ...change, ...contractDigests(change, from.digests, to.digests) },
  // A document may have megabytes, and only the primary shows it.
  pack({ compiledContract, ...config }, to) {
    const sent = to === 'worker' ? compiledContract && { ...compiledContract, document: null } : compiledContract
    return [{ ...config, compiledContract: sent }, null]
  },
}
