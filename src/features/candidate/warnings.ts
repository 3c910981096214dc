import type { ParsedUpstream, UpstreamConfig } from '../../core/config/config.ts'
import { authenticates, listClientNames } from '../../core/config/config-facts.ts'
import type { ConfigPart } from '../../core/config/config-part.ts'
import type { KeyPath } from '../../core/config/problem.ts'
import { processShare } from '../../core/config/process-share.ts'
import type { RuleResult, WarningRule } from '../../core/config/rules/rule.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { findDuplicates, findUnusedTls, warnOfUnverifiedTls } from '../../core/config/warnings/upstream-warnings.ts'
import { formatDuration, formatPercent, formatSize } from '../../core/lib/text/units.ts'
import { allOperations, type Group, groups, type Operation } from '../../operations.ts'
import { type CandidateConfig, type CandidateShadowConfig, leastShare } from './config/candidate.ts'
import { purposeOfShifts } from './shift/shift-record.ts'

interface RuleInput<Settings> {
  readonly group: Group
  readonly path: KeyPath
  readonly config: Settings
  readonly primary: UpstreamConfig
  readonly stated: Partial<NonNullable<ParsedUpstream['candidate']>>
  readonly processes: number
}

type CandidateRule = (candidate: RuleInput<CandidateConfig>) => RuleResult

type ShadowRule = (shadow: RuleInput<CandidateShadowConfig>) => RuleResult

const ofEachCandidate =
  (rule: CandidateRule): WarningRule =>
  ({ parsed, config, processes }) =>
    groups.map((group) => {
      const primary = config.upstreams[group]
      const { candidate } = primary
      const stated = parsed.upstreams[group].candidate ?? {}
      const path = ['upstreams', group, 'candidate']
      return candidate && rule({ group, path, config: candidate, primary, stated, processes })
    })

const ofEachShadow = (rule: ShadowRule): WarningRule =>
  ofEachCandidate(
    ({ path, config: { shadow }, ...more }) => shadow && rule({ ...more, path: [...path, 'shadow'], config: shadow }),
  )

const hasOperation = (group: Group, method: Operation['method']): boolean =>
  allOperations.some((each) => each.group === group && each.method === method)

const unusedPostWords: ShadowRule = ({ group, path, config: { posts, sideEffects } }) => {
  const hasPosts = hasOperation(group, 'POST')
  if (posts)
    return (
      !hasPosts && {
        path: [...path, 'posts'],
        message: 'this does nothing: the group has no POST',
        expected: 'false',
        found: 'true',
        hint: 'remove this line',
      }
    )
  return (
    sideEffects !== null && {
      path: [...path, 'sideEffects'],
      message: 'this does nothing: no POST is copied',
      expected: hasPosts ? 'posts: true beside it' : 'no sideEffects',
      found: 'no posts',
      hint: hasPosts ? 'add posts: true, or remove this line' : 'remove this line',
    }
  )
}

const nothingCopied: ShadowRule = ({ group, path, config: { sample, posts, sideEffects } }) =>
  sample > 0 &&
  !posts &&
  sideEffects === null &&
  !hasOperation(group, 'GET') && {
    path,
    message: 'this does nothing: the group has no GET, and its POSTs are not copied',
    expected: 'posts: true and sideEffects: none, or no shadow',
    found: 'no posts',
    hint: 'add both if nothing that the candidate does with a copy lasts, or remove shadow',
  }

const noiseOfPosts: ShadowRule = ({ group, path, config: { compare } }) =>
  compare?.noise === true &&
  !hasOperation(group, 'GET') && {
    path: [...path, 'compare', 'noise'],
    message: 'this does nothing: the group has no GET, and a POST is never sent to the primary twice',
    expected: 'what differs from one response to the next under ignore',
    found: 'true',
    hint: 'remove this line, and name times and ids under ignore',
  }

const shownValues: ShadowRule = ({ path, config: { compare } }) =>
  compare?.examples === true && {
    path: [...path, 'compare', 'examples'],
    message: 'VALUES OF RESPONSES ARE KEPT, and every operator who may read sees them',
    expected: 'false, unless no value is data of a client',
    found: 'true',
    hint: 'remove this line when you have seen enough',
  }

const bodyWithoutRoom: ShadowRule = ({ path, config: { posts, compare, maxBody, maxBytes }, processes }) => {
  // Request bodies are copied only for POSTs; response bodies are kept only to be compared.
  if (!posts && compare === null) return null
  const room = processShare(maxBytes, processes)
  return (
    maxBody > room && {
      path: [...path, 'maxBody'],
      message: 'the longest bodies are not kept: a worker has no room for one',
      expected: `at most ${formatSize(room)}, what each worker has of shadow.maxBytes`,
      found: formatSize(maxBody),
      hint: 'write less, or more for maxBytes',
    }
  )
}

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

/** Secrets for the group's upstream that another host would get, in copies too. */
const inheritedSecrets: CandidateRule = ({ path, config: { upstream }, primary, stated }) => {
  const known = new Set(primary.endpoints.map(({ origin }) => origin))
  const stranger = upstream.endpoints.find(({ origin }) => origin !== 'sandbox' && !known.has(origin))
  const names = upstream.request.set.filter(({ secret }) => secret).map(({ name }) => name)
  return (
    stated.request?.set === undefined &&
    stranger !== undefined &&
    names.length > 0 && {
      path,
      message: `another host gets the secrets that the gateway sets for the upstream of the group: ${names.join(', ')}`,
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

const unverifiedTls: CandidateRule = ({ path, config: { upstream }, stated: { tls } }) =>
  tls !== undefined &&
  'verify' in tls &&
  !upstream.tls.verify &&
  warnOfUnverifiedTls([...path, 'tls', 'verify'], 'this candidate')

const unusedTls: CandidateRule = ({ path, config: { upstream }, stated: { tls } }) =>
  tls !== undefined && findUnusedTls([...path, 'tls'], 'candidate', upstream)

const stepsTooShortToJudge: CandidateRule = ({ path, config: { steps, guard } }) =>
  steps !== null &&
  guard !== null &&
  steps.every < guard.window && {
    path: [...path, 'steps', 'every'],
    message: 'a step is shorter than the window of the guard, which cannot judge it before the next begins',
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

// Each unknown name is compared with up to 100,000 known ones: suggestions for thousands would take too long.
const maxSuggestions = 20

/** A warning: a list elsewhere must not stop an operator who removes a client in a hurry. */
const unknownClients: WarningRule = ({ config }) => {
  const named = groups.flatMap((group) =>
    (config.upstreams[group].candidate?.clients ?? []).map((name, index) => ({
      name,
      path: ['upstreams', group, 'candidate', 'clients', index],
    })),
  )
  if (named.length === 0) return null
  const ids = listClientNames(config)
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
      allOperations.every((operation) => operation.group !== group || !authenticates(operations[operation.id])) && {
        path: ['upstreams', group, 'candidate', 'clients'],
        message: 'this does nothing: no operation of the group has auth',
        expected: 'auth for an operation of the group, or no clients here',
        found: 'no auth',
        hint: 'add auth: { methods: [apiKey] } at the top level, or write a share, which goes by address then',
      },
  )

export const dividedLimits: Required<ConfigPart>['dividedLimits'] = ({ parsed: { upstreams } }) =>
  groups.flatMap((group) => {
    const { maxConnections, maxPending, shadow } = upstreams[group].candidate ?? {}
    const path = ['upstreams', group, 'candidate']
    return [
      [[...path, 'maxConnections'], maxConnections],
      [[...path, 'maxPending'], maxPending],
      [[...path, 'shadow', 'concurrency'], shadow?.concurrency],
    ] as const
  })

export const usesRedis: Required<ConfigPart>['usesRedis'] = (config, purpose) =>
  purpose === purposeOfShifts(config) && groups.some((group) => config.upstreams[group].candidate !== null)

export const warnings: readonly WarningRule[] = [
  ...[unusedPostWords, nothingCopied, noiseOfPosts, shownValues, bodyWithoutRoom].map(ofEachShadow),
  ...[
    (({ path, config: { upstream } }) => findDuplicates(path, upstream)) satisfies CandidateRule,
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
]
