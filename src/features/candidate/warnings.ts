import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import type { KeyPath } from '../../core/config/problem.ts'
import type { RuleResult, WarningRule } from '../../core/config/rules/rule.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { findDuplicates, findUnusedTls, warnOfUnverifiedTls } from '../../core/config/warnings/upstream-warnings.ts'
import { limitBelowWorkers, workerCount } from '../../core/config/worker-count.ts'
import { formatDuration, formatPercent } from '../../core/lib/text/units.ts'
import { allOperations, groups } from '../../operations.ts'
import { sectionWithRedis } from '../redis/redis-settings.ts'
import type { CandidateConfig } from './config/candidate.ts'
import { leastShare } from './config/candidate-steps.ts'
import { shadowWarnings } from './shadow-warnings.ts'

type CandidateRule = (candidate: {
  readonly path: KeyPath
  readonly config: CandidateConfig
  readonly primary: UpstreamConfig
  /** What the candidate itself says of TLS; undefined: nothing. */
  readonly statedTls: object | undefined
  /** Whether the candidate itself says which request fields are set. */
  readonly statesFields: boolean
}) => RuleResult

const ofEachCandidate =
  (rule: CandidateRule): WarningRule =>
  ({ parsed, config: { upstreams } }) =>
    groups.map((group) => {
      const primary = upstreams[group]
      const { candidate: config } = primary
      const { tls: statedTls, request } = parsed.upstreams[group].candidate ?? {}
      const path = ['upstreams', group, 'candidate']
      return config && rule({ path, config, primary, statedTls, statesFields: request?.set !== undefined })
    })

const duplicates: CandidateRule = ({ path, config: { upstream } }) => findDuplicates(path, upstream)

const sameAsPrimary: CandidateRule = ({ path, config: { upstream }, primary }) => {
  const names = primary.endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix)
  const isSame =
    upstream.endpoints.every(({ origin, pathPrefix }) => names.includes(origin + pathPrefix)) &&
    JSON.stringify([upstream.host, upstream.request]) === JSON.stringify([primary.host, primary.request])
  return (
    isSame && {
      path,
      message: 'this candidate is the upstream of its group: there is nothing to try',
      expected: 'other endpoints, or another host or request',
      found: 'the same',
      hint: 'write the URL of the upstream that is to be tried, or remove candidate',
    }
  )
}

/** Warns of secrets for the upstream of a group that another host gets. They stand in copies too. */
const inheritedSecrets: CandidateRule = ({ path, config: { upstream }, primary, statesFields }) => {
  const known = new Set(primary.endpoints.map(({ origin }) => origin))
  const stranger = upstream.endpoints.find(({ origin }) => origin !== 'sandbox' && !known.has(origin))
  const names = upstream.request.set.filter(({ secret }) => secret).map(({ name }) => name)
  return (
    !statesFields &&
    stranger !== undefined &&
    names.length > 0 && {
      path,
      message: `this candidate gets what the gateway sets for the upstream of its group: ${names.join(', ')}`,
      expected: 'request: { set: … } of its own',
      found: `none, and another host: ${stranger.origin}`,
      hint: 'add request: { set: {} } to the candidate, or write there what it may have; what is set is in copies too',
    }
  )
}

const withoutHealthCheck: CandidateRule = ({ path, config: { upstream } }) =>
  upstream.healthCheck === null &&
  upstream.endpoints.some(({ origin }) => origin !== 'sandbox') && {
    path,
    message: 'the gateway does not notice that this candidate is down before it has requests',
    expected: 'a healthCheck, of the candidate or its group',
    found: 'none',
    hint: 'add healthCheck: { path: … } to the group',
  }

const unverifiedTls: CandidateRule = ({ path, config: { upstream }, statedTls }) =>
  statedTls !== undefined &&
  'verify' in statedTls &&
  !upstream.tls.verify &&
  warnOfUnverifiedTls([...path, 'tls', 'verify'], 'this candidate')

const unusedTls: CandidateRule = ({ path, config: { upstream }, statedTls }) =>
  statedTls !== undefined && findUnusedTls([...path, 'tls'], 'candidate', upstream)

const stepsTooShortToJudge: CandidateRule = ({ path, config: { steps, guard } }) =>
  steps !== null &&
  guard !== null &&
  steps.every < guard.window && {
    path: [...path, 'steps', 'every'],
    message: 'the guard has not seen a whole window of a step when the next begins',
    expected: `at least guard.window (${formatDuration(guard.window)})`,
    found: formatDuration(steps.every),
    hint: 'write a longer time, or a shorter guard.window',
  }

const stepsBelowShare: CandidateRule = ({ path, config: { steps, share } }) => {
  const below = steps?.shares.filter((each) => each <= share) ?? []
  return (
    below.length > 0 && {
      path: [...path, 'steps', 'shares'],
      message: `this does nothing: ${below.map(formatPercent).join(', ')}, as the share is never below candidate.share`,
      expected: `steps of more than ${formatPercent(share)}`,
      found: below.map(formatPercent).join(', '),
      hint: 'remove share, or the steps that are not above it',
    }
  )
}

const shareTooSmall: CandidateRule = ({ path, config: { share } }) =>
  share > 0 &&
  share < leastShare && {
    path: [...path, 'share'],
    message: `this is less than the smallest share, and counts as ${formatPercent(leastShare)} or as nothing`,
    expected: `0%, or at least ${formatPercent(leastShare)}`,
    found: formatPercent(share),
    hint: `write ${formatPercent(leastShare)}`,
  }

// Each is compared with up to 100,000 names: thousands would take longer than a load may.
const maxSuggestions = 20

/**
 * Warns of clients that a candidate names and the file does not know. It is no error: an operator who takes a client
 * out in a hurry is not kept from it by a list elsewhere.
 */
const unknownClients: WarningRule = ({ config: { clients, upstreams } }) => {
  const named = groups.flatMap((group) =>
    (upstreams[group].candidate?.clients ?? []).map((name, index) => ({
      name,
      path: ['upstreams', group, 'candidate', 'clients', index],
    })),
  )
  if (named.length === 0) return null
  const ids = clients.map(({ id }) => id)
  const known = new Set(ids)
  const unknown = named.filter(({ name }) => !known.has(name))
  return unknown.map(({ name, path }, nth) => {
    const near = nth < maxSuggestions ? suggestNearest(name, ids) : undefined
    return {
      path,
      message: 'this does nothing: no client has this name',
      expected: 'the name of one under clients',
      found: name,
      hint: near === undefined ? 'remove it, or add the client' : `write ${near}, or remove it`,
    }
  })
}

const unaskedClients: WarningRule = ({ config: { operations, upstreams } }) =>
  groups.map(
    (group) =>
      (upstreams[group].candidate?.clients ?? []).length > 0 &&
      allOperations.every((operation) => operation.group !== group || operations[operation.id].auth === null) && {
        path: ['upstreams', group, 'candidate', 'clients'],
        message: 'this does nothing: no operation of the group asks clients who they are',
        expected: 'auth for an operation of the group, or no clients here',
        found: 'no auth',
        hint: 'add auth: { methods: [apiKey] } at the top level, or write a share, which goes by address then',
      },
  )

const indivisibleLimits: WarningRule = ({ parsed: { upstreams }, config, cores }) => {
  const workers = workerCount(config, cores)
  return groups.map((group) => {
    const { maxConnections, maxPending, shadow } = upstreams[group].candidate ?? {}
    const path = ['upstreams', group, 'candidate']
    return [
      limitBelowWorkers(workers, [...path, 'maxConnections'], maxConnections),
      limitBelowWorkers(workers, [...path, 'maxPending'], maxPending),
      limitBelowWorkers(workers, [...path, 'shadow', 'concurrency'], shadow?.concurrency),
    ]
  })
}

// What is said of candidates is kept in one of the two.
export const usesLimitsRedis = (config: Config): boolean =>
  sectionWithRedis(config, 'idempotency').redis === null &&
  groups.some((group) => config.upstreams[group].candidate !== null)

export const warnings: readonly WarningRule[] = [
  ...shadowWarnings,
  ...[
    duplicates,
    sameAsPrimary,
    inheritedSecrets,
    withoutHealthCheck,
    unverifiedTls,
    unusedTls,
    stepsTooShortToJudge,
    stepsBelowShare,
    shareTooSmall,
  ].map(ofEachCandidate),
  unknownClients,
  unaskedClients,
  indivisibleLimits,
]
