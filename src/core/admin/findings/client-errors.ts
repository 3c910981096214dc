import type { Group } from '../../../operations.ts'
import { shellQuote } from '../../lib/program-command.ts'
import { pluck, sum } from '../../log/sum-reports.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { createFinding, type Finding } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

// The share of fewer requests says little.
const minRequests = 20

// Less is of no consequence, however certain it is.
const minExcess = 0.2

// In standard errors: in a day of windows, chance singles out hardly one of a thousand endpoints that are all alike.
const minCertainty = 5

/**
 * Finds the endpoints that answer far more of their requests with a 4xx than the others of their group. That is no
 * failure, and ejects none of them: each such response may be the client's fault. But clients do not choose the
 * endpoint, so all have the same share of those. `name`: the upstream's, as a sentence has it.
 */
export const clientErrorFindings = (
  group: Group,
  { report }: FindingInputs,
  name: string = group,
): readonly Finding[] => {
  const active = report.upstreams[group].endpoints.filter(({ state }) => state.name !== 'draining')
  return active.flatMap((each) => {
    const own = each.recentResponses
    const others = sumResponses(active.filter((other) => other !== each))
    if (!isOutlier(own, others)) return []
    const cause = `${each.url} answers ${percent(own)} of its requests with a 4xx, the other endpoints of ${name} ${percent(others)} (of ${own.requests} and ${others.requests} requests in the last 5 minutes): it may be another version, or stand at another path`
    const command = `lender-gateway endpoint drain ${group} ${shellQuote(each.url)}`
    return [createFinding('warning', `upstreams.${group}`, cause, { command })]
  })
}

type ResponseCounts = EndpointReport['recentResponses']

const sumResponses = (endpoints: readonly EndpointReport[]): ResponseCounts => {
  const responses = pluck(endpoints, 'recentResponses')
  return { requests: sum(pluck(responses, 'requests')), clientErrors: sum(pluck(responses, 'clientErrors')) }
}

/**
 * Compares two shares as a test of proportions does: by the deviation that chance alone would cause if they were equal.
 */
const isOutlier = (own: ResponseCounts, others: ResponseCounts): boolean => {
  if (own.requests < minRequests || others.requests < minRequests) return false
  const excess = clientErrorShare(own) - clientErrorShare(others)
  const common = (own.clientErrors + others.clientErrors) / (own.requests + others.requests)
  const deviation = Math.sqrt(common * (1 - common) * (1 / own.requests + 1 / others.requests))
  return excess >= minExcess && excess >= minCertainty * deviation
}

const clientErrorShare = ({ clientErrors, requests }: ResponseCounts): number => clientErrors / requests

const percent = (responses: ResponseCounts): string => `${Math.round(clientErrorShare(responses) * 100)} %`
