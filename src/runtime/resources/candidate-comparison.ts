import type { UpstreamConfig } from '../../config/config.ts'
import { hashValue } from '../../config/config-hash.ts'
import { ComparisonCounts } from '../../observe/candidate/comparison-counts.ts'

/**
 * Returns the comparison of a group's candidate with its primary: that of the previous snapshot, as long as the same is
 * compared in the same way. A share, a sample or a takeback makes no difference. Null: answers are not compared.
 */
export const continueComparison = (
  upstream: UpstreamConfig,
  before: ComparisonCounts | null,
  key: string,
): ComparisonCounts | null => {
  const { candidate } = upstream
  const compare = candidate?.shadow?.compare
  if (!candidate?.shadow || !compare) return null
  const { arrays: unordered, minEqual: _, ...rules } = compare
  const options = { ...rules, unordered, maxBody: candidate.shadow.maxBody }
  const digest = hashValue([options, answeringSide(upstream), answeringSide(candidate.upstream)])
  return before?.digest === digest ? before : new ComparisonCounts(digest, options, key)
}

/** Lists what decides how a side answers. */
const answeringSide = ({ endpoints, host, request, response }: UpstreamConfig): unknown => ({
  endpoints: endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix),
  host,
  request,
  response,
})
