import type { Group } from '../../catalog.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

// A share of fewer says little.
const fewest = 20

// Less is of no consequence, however certain it is.
const leastExcess = 0.2

// Standard errors: chance names hardly one of a thousand endpoints that are all alike in a day of windows.
const leastCertainty = 5

/**
 * Finds the endpoints that answer far more of their requests with a 4xx than the others of their group. That is no
 * failure, and takes none of them out: each such answer may be the client's fault. But clients do not choose the
 * endpoint, so all have the same share of those.
 */
export const clientErrorFindings = (group: Group, { report }: Reading): readonly Finding[] => {
  const taking = report.upstreams[group].endpoints.filter(({ state }) => state.name !== 'draining')
  return taking.flatMap((each) => {
    const own = each.answers
    const others = addedUp(taking.filter((other) => other !== each))
    if (!standsOut(own, others)) return []
    const cause = `${each.url} answers ${percent(own)} of its requests with a 4xx, the other endpoints of ${group} ${percent(others)} (of ${own.requests} and ${others.requests} requests in the last 5 minutes): it may be another version, or stand at another path`
    const command = `lender-gateway endpoint drain ${group} ${each.url}`
    return [finding('warning', `upstreams.${group}`, cause, { command })]
  })
}

type Answers = EndpointReport['answers']

const addedUp = (endpoints: readonly EndpointReport[]): Answers => ({
  requests: endpoints.reduce((sum, { answers }) => sum + answers.requests, 0),
  clientErrors: endpoints.reduce((sum, { answers }) => sum + answers.clientErrors, 0),
})

/** Compares two shares as a test of proportions does: by the deviation that chance alone would have, were they one. */
const standsOut = (own: Answers, others: Answers): boolean => {
  if (own.requests < fewest || others.requests < fewest) return false
  const excess = shareOf(own) - shareOf(others)
  const common = (own.clientErrors + others.clientErrors) / (own.requests + others.requests)
  const deviation = Math.sqrt(common * (1 - common) * (1 / own.requests + 1 / others.requests))
  return excess >= leastExcess && excess >= leastCertainty * deviation
}

const shareOf = ({ clientErrors, requests }: Answers): number => clientErrors / requests

const percent = (answers: Answers): string => `${Math.round(shareOf(answers) * 100)} %`
