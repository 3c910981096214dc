import { type AdminError, isAdminError } from '../../core/admin/admin-error.ts'
import {
  applyOverride,
  overrideDefaults,
  overrideHelp,
  overrideReasonPhrase,
  stoppingError,
  ttlArgument,
  untilOrAsFile,
} from '../../core/admin/commands/apply-override.ts'
import {
  badRequest,
  choiceArgument,
  reasonArgument,
  textArgument,
  type ValuesOf,
} from '../../core/admin/commands/argument.ts'
import type { Command, CommandGroup } from '../../core/admin/commands/command.ts'
import {
  joinFirst,
  paragraphs,
  pluralize,
  spellDuration,
  toAdminError,
  untilPhrase,
  workersNotReplying,
} from '../../core/admin/commands/phrases.ts'
import { html } from '../../core/admin/html.ts'
import { describeSide } from '../../core/exchange/sides.ts'
import { type EndpointOverrideState, toEndpointKey } from '../../core/runtime/overrides.ts'
import { type Group, groups, type Side } from '../../operations.ts'
import { type EndpointState, listEndpointStates, otherTakers } from './endpoint-states.ts'
import { rejectEarlyEnd, rejectLastEndpoint } from './last-endpoint.ts'

const args = {
  group: choiceArgument(groups, { usage: '<GROUP>', help: 'the group of the endpoint', example: 'risk' }),
  url: textArgument({
    usage: '<URL>',
    help: 'the endpoint, as status shows it',
    example: 'http://risk-a.internal:8080',
  }),
  ttl: ttlArgument,
  reason: reasonArgument,
}

interface Plan extends Pick<ValuesOf<typeof args>, 'group' | 'url' | 'reason'> {
  /** The endpoint on each of its sides. Empty: an edit removed it, and its override remains. */
  readonly targets: readonly EndpointState[]
  readonly endpoints: readonly EndpointState[]
  /** Null: the override ends, because the configuration says the same. */
  readonly ttlMs: number | null
}

interface EndpointCommandResult extends Pick<Plan, 'group' | 'url' | 'reason'> {
  readonly state: EndpointOverrideState
  readonly until: string | null
}

type EndpointCommand = Command<ValuesOf<typeof args>, Plan, EndpointCommandResult>

const stateCommand = (state: EndpointOverrideState) =>
  ({
    ...overrideDefaults,
    choice: state,
    page: state,
    path: `/endpoints/${state}`,
    async plan(context, { group, url, ttl, reason }) {
      const report = await context.report() // first, so that all decisions below see the same time
      const endpoints = listEndpointStates(context, group, report.upstreams[group])
      const targets = endpoints.filter((each) => each.url === url)
      const isHeld = context.overrides.endpoints.get(toEndpointKey(group, url)) !== null
      if (targets.length === 0 && !(state === 'ready' && isHeld))
        return badRequest(`url is expected to be one of ${listUrls(endpoints)}, as /status shows them`)
      if (context.draining()) return stoppingError
      if (state === 'ready' && !isHeld && !targets.some(({ hasWeight }) => hasWeight)) return withoutWeight(url)
      const isReset = state === 'ready' && !targets.some(({ drainedByFile }) => drainedByFile)
      if (!isReset && !context.overrides.endpoints.hasRoomFor(toEndpointKey(group, url))) return tooManyOverrides
      const reject = state === 'drain' ? rejectLastEndpoint : rejectEarlyEnd
      const rejection = reject(context, group, targets, endpoints, ttl)
      return rejection ?? { group, url, targets, endpoints, reason, ttlMs: isReset ? null : ttl }
    },
    async run(context, { group, url, targets, ttlMs, reason }, { by, apply }) {
      // The operator is trusted: an ejected endpoint gets requests at once. First, so that a rejected command leaves
      // every drain unchanged. Without serving workers, no worker has ejected it.
      let partly = {}
      if (state === 'ready') {
        const { results, silent } = await context.runEverywhere('uneject', { group, url })
        if (results.length > 0 && targets.some(({ outage }) => outage === 'ejected'))
          partly = { done: { group, endpoint: url, state } }
        if (silent > 0) return { ...stillEjected(silent), ...partly }
      }
      const change = { key: toEndpointKey(group, url), state, ttlMs, by, reason }
      const applied = await applyOverride(context, context.overrides.endpoints, change, apply).catch(toAdminError)
      return isAdminError(applied) ? { ...applied, ...partly } : { group, url, state, reason, until: applied.until }
    },
    event: 'endpoint override',
    fields: ({ url: endpoint, ...rest }) => ({ endpoint, ...rest }),
  }) satisfies Partial<EndpointCommand>

const drainCommand: EndpointCommand = {
  ...stateCommand('drain'),
  confirmation(_, { group, url, targets, endpoints, ttlMs }) {
    const inFlight = targets.reduce((sum, target) => sum + target.inFlight, 0)
    return {
      title: `Drain ${url}?`,
      what: paragraphs(
        html`${url} of ${group} gets no new requests for ${spellDuration(ttlMs ?? 0)}. It finishes ${pluralize(inFlight, 'request')} in flight.`,
        targets.length > 1 ? 'It serves both sides of the group, and is drained on both.' : null,
        targets.some(({ takesWork }) => takesWork) ? null : 'It gets none now.',
        ...targets.map((target) => remainingText(group, target.side, otherTakers(endpoints, target))),
        'After that time the file decides again. To end the drain earlier, make the endpoint ready.',
      ),
      ttlMs,
      asksReason: true,
      button: 'Drain',
    }
  },
  successText: ({ group, url, until, reason }) =>
    `${url} of ${group} gets no new requests${untilPhrase(until)}${overrideReasonPhrase({ reason })}.`,
  cliText: ({ group, url }, { until }) => `${url} of ${group} takes no new requests ${untilOrAsFile(until)}`,
  links: {
    endpoint: ({ group, url, state }) =>
      state === 'draining' ? null : { query: { group, url }, words: 'Drain', about: `${url} of ${group}` },
  },
}

const readyCommand: EndpointCommand = {
  ...stateCommand('ready'),
  confirmation: (_, { group, url, targets, ttlMs }) => ({
    title: `Make ${url} ready?`,
    what: paragraphs(
      targets.length === 0
        ? html`${group} has no endpoint ${url} now. Its override ends, so that it gets requests when an edit brings it back.`
        : ttlMs === null
          ? html`${url} of ${group} gets new requests again, from now on, as the file says.`
          : html`The file drains ${url} of ${group}. It gets new requests all the same for ${spellDuration(ttlMs)}, and then none again.`,
      targets.some(({ outage }) => outage === 'ejected')
        ? 'It was ejected because its requests failed. It gets requests again at once.'
        : null,
      targets.some(({ outage }) => outage === 'down')
        ? 'Its health check fails, and this command does not overrule that: it stays down until the check succeeds.'
        : null,
    ),
    ttlMs,
    button: 'Make it ready',
  }),
  successText: ({ group, url, until, reason }) =>
    `${url} of ${group} gets new requests ${untilOrAsFile(until)}${overrideReasonPhrase({ reason })}.`,
  cliText: ({ group, url }, { until }) => `${url} of ${group} takes requests ${untilOrAsFile(until)}`,
  links: {
    // No command gives an endpoint with weight 0 a share.
    endpoint: ({ group, url, state, weight, setBy }) =>
      (state === 'draining' || state === 'ejected') && (weight > 0 || setBy !== null)
        ? { query: { group, url }, words: 'Ready', about: `${url} of ${group}` }
        : null,
  },
}

const remainingText = (group: Group, side: Side, others: readonly EndpointState[]) =>
  others.length === 0
    ? null
    : html`${describeSide(group, side)} is then served by ${others.map(({ url, outage }) => (outage === null ? url : `${url} (${outage})`)).join(', ')}.`

/** An endpoint on both sides of a group is one machine, and is drained on both. */
export const endpointCommands: CommandGroup = {
  name: 'endpoint',
  description: 'Have one endpoint of a group take no new requests for a while, or take them again.',
  choice: { usage: '<STATE>', help: 'what it is to do' },
  args,
  ...overrideHelp,
  examples: [
    'endpoint drain risk http://risk-a.internal:8080 --ttl 30m',
    'endpoint ready risk http://risk-a.internal:8080',
  ],
  commands: [drainCommand, readyCommand],
}

// A group may have hundreds.
const maxShown = 20

const listUrls = (endpoints: readonly EndpointState[]): string =>
  joinFirst([...new Set(endpoints.map(({ url }) => url))], maxShown)

const stillEjected = (silent: number): AdminError =>
  workersNotReplying(
    `${silent} of the workers did not reply: there the endpoint may stay ejected, and a drain continues in all workers; send the command again when they reply, or are replaced`,
  )

const withoutWeight = (url: string): AdminError => ({
  status: 409,
  code: 'no-weight',
  detail: `${url} has weight 0, and no command changes that: give it a weight in the file`,
})

const tooManyOverrides: AdminError = {
  status: 409,
  code: 'too-many-overrides',
  detail:
    '1000 endpoints have an override already, and no more are allowed: end one (endpoint ready), or wait until one expires',
}
