import { allOperations, type Group, groups } from '../../operations.ts'
import { type EndpointOverrideState, isDrained, toEndpointKey } from '../../runtime/overrides.ts'
import type { UpstreamReport } from '../../runtime/report/status-report.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { html } from '../page/html.ts'
import {
  applyOverride,
  overrideDefaults,
  overrideHelp,
  stoppingError,
  ttlArgument,
  untilOrAsFile,
} from './apply-override.ts'
import { badRequest, choiceArgument, textArgument, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { paragraphs, pluralize, spellDuration, untilPhrase } from './phrases.ts'
import { workersNotAnswering } from './workers-not-answering.ts'

const args = {
  group: choiceArgument(groups, { usage: '<GROUP>', help: 'behind which group it stands', example: 'risk' }),
  url: textArgument({
    usage: '<URL>',
    help: 'which of them, as status shows it',
    example: 'http://risk-a.internal:8080',
  }),
  ttl: ttlArgument,
}

interface Plan {
  readonly group: Group
  readonly target: EndpointState
  /** All endpoints of the group, this one included. */
  readonly endpoints: readonly EndpointState[]
  /** For how long; null: from now on the configuration says the same. */
  readonly ttlMs: number | null
}

interface EndpointCommandResult {
  readonly group: Group
  readonly url: string
  readonly state: EndpointOverrideState
  /** Null: the configuration holds. */
  readonly until: string | null
}

type EndpointCommand = Command<ValuesOf<typeof args>, Plan, EndpointCommandResult>

/** Creates what both commands have in common: the file is not touched, and holds again afterwards. */
const stateCommand = (state: EndpointOverrideState) =>
  ({
    ...overrideDefaults,
    choice: state,
    page: state,
    path: `/endpoints/${state}`,
    async plan(context, { group, url, ttl }) {
      const report = await context.report() // first, so that all that follows is decided at once
      const endpoints = getEndpointStates(context, group, report.upstreams[group])
      const target = endpoints.find((each) => each.url === url)
      if (target === undefined)
        return badRequest(`url is expected to be one of ${listUrls(endpoints)}, as /status shows them`)
      if (context.draining()) return stoppingError
      const isReset = state === 'ready' && !target.drainedByFile
      if (!isReset && !context.overrides.endpoints.hasRoomFor(toEndpointKey(group, url))) return tooManyOverrides
      const rejection = state === 'drain' ? rejectLastEndpoint(group, target, endpoints) : null
      return rejection ?? { group, target, endpoints, ttlMs: isReset ? null : ttl }
    },
    async run(context, { group, target: { url }, ttlMs }) {
      // The operator is believed: an ejected endpoint is let in again at once. That comes first, so that a command
      // which is rejected leaves every drain as it was.
      if (state === 'ready') {
        const { unanswered } = await context.runEverywhere('uneject', { group, url })
        if (unanswered > 0) return stillEjected(unanswered)
      }
      const applied = await applyOverride(context, context.overrides.endpoints, {
        key: toEndpointKey(group, url),
        state,
        ttlMs,
      })
      return isAdminError(applied) ? applied : { group, url, state, until: applied.until }
    },
    event: 'endpoint order',
    fields: ({ url: endpoint, ...rest }) => ({ endpoint, ...rest }),
  }) satisfies Partial<EndpointCommand>

const drainCommand: EndpointCommand = {
  ...stateCommand('drain'),
  confirmation(_, { group, target, endpoints, ttlMs }) {
    const others = endpoints.filter(({ url, takesWork }) => url !== target.url && takesWork)
    return {
      title: `Drain ${target.url}?`,
      what: paragraphs(
        html`${target.url} of ${group} gets no new requests for ${spellDuration(ttlMs ?? 0)}. What it has in flight, ${pluralize(target.inFlight, 'request')} just now, it finishes.`,
        target.takesWork ? null : 'It gets none at present either.',
        others.length === 0
          ? null
          : html`${group} is then served by ${others.map(({ url, outage }) => (outage === null ? url : `${url} (${outage})`)).join(', ')}.`,
        'After that time the file’s word holds again. To end it before, make the endpoint ready.',
      ),
      ttlMs,
      button: 'Drain',
    }
  },
  successText: ({ group, url, until }) => `${url} of ${group} gets no new requests${untilPhrase(until)}.`,
  cliText: ({ group, url }, { until }) => `${url} of ${group} takes no new requests ${untilOrAsFile(until)}`,
  links: {
    endpoint: ({ group, url, state }) =>
      state === 'draining' ? null : { query: { group, url }, words: 'Drain', about: `${url} of ${group}` },
  },
}

const readyCommand: EndpointCommand = {
  ...stateCommand('ready'),
  confirmation: (_, { group, target, ttlMs }) => ({
    title: `Make ${target.url} ready?`,
    what: paragraphs(
      ttlMs === null
        ? html`${target.url} of ${group} gets new requests again, from now on, as the file says.`
        : html`The file drains ${target.url} of ${group}. It gets new requests all the same for ${spellDuration(ttlMs)}, and then none again.`,
      target.outage === 'ejected'
        ? 'Its requests have failed, which took it out. It is believed that this is over, and let in at once.'
        : null,
      target.outage === 'down'
        ? 'Its health check fails, and that is not overruled: it stays down until the check goes well.'
        : null,
    ),
    ttlMs,
    button: 'Make it ready',
  }),
  successText: ({ group, url, until }) => `${url} of ${group} gets new requests again${untilPhrase(until)}.`,
  cliText: ({ group, url }, { until }) => `${url} of ${group} takes requests ${untilOrAsFile(until)}`,
  links: {
    endpoint: ({ group, url, state }) =>
      state === 'draining' || state === 'ejected'
        ? { query: { group, url }, words: 'Ready', about: `${url} of ${group}` }
        : null,
  },
}

/** Drains an endpoint for a while, or makes it ready again. */
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

/** An endpoint of a group just now, with overrides that are set but not in effect yet. */
interface EndpointState {
  readonly url: string
  readonly inFlight: number
  /** Whether the configuration drains it. */
  readonly drainedByFile: boolean
  /** Whether it gets new requests when it can. */
  readonly takesWork: boolean
  /** Why it gets none at present, though it would; null: it does. */
  readonly outage: string | null
}

const getEndpointStates = (
  { reloader, overrides }: AdminContext,
  group: Group,
  { endpoints: reported }: UpstreamReport,
): readonly EndpointState[] => {
  const { endpoints } = reloader.config.upstreams[group]
  return reported.map(({ url, inFlight, state: { name: state } }) => {
    // An endpoint that the configuration names twice is overridden as one.
    const same = endpoints.filter(({ origin, pathPrefix }) => origin + pathPrefix === url)
    const isReady = (drainedByFile: boolean): boolean =>
      !isDrained(overrides.endpoints, toEndpointKey(group, url), drainedByFile)
    return {
      url,
      inFlight,
      drainedByFile: same.some(({ drain }) => drain),
      takesWork: same.some(({ weight, drain }) => weight > 0 && isReady(drain)),
      outage: state === 'down' || state === 'ejected' ? state : null,
    }
  })
}

/** Rejects draining the last endpoint that takes requests, or the last healthy one; null: another one remains. */
const rejectLastEndpoint = (
  group: Group,
  target: EndpointState,
  endpoints: readonly EndpointState[],
): AdminError | null => {
  const others = endpoints.filter(({ url, takesWork }) => url !== target.url && takesWork)
  const enough = others.some(({ outage }) => outage === null) || (target.outage !== null && others.length > 0)
  if (!target.takesWork || enough) return null
  const unavailable = others.map(({ url, outage }) => `${url} is ${outage}`).join(', ')
  const drained = endpoints.find(({ url, takesWork }) => url !== target.url && !takesWork)
  const ready = drained === undefined ? '' : ` (endpoint ready ${group} ${drained.url})`
  const commands = allOperations.flatMap((row) => (row.group === group ? [`operation refuse ${row.id}`] : []))
  return {
    status: 409,
    code: 'last-endpoint',
    detail: `no other endpoint of ${group} takes work${unavailable === '' ? '' : ` (${unavailable})`}: make another one ready first${ready}, add one in the file, or take its operations out of service (${commands.join('; ')})`,
  }
}

// A group may have hundreds.
const maxShown = 20

const listUrls = (endpoints: readonly EndpointState[]): string => {
  const urls = endpoints.slice(0, maxShown).map(({ url }) => url)
  const more = endpoints.length - urls.length
  return [...urls, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

const stillEjected = (unanswered: number): AdminError =>
  workersNotAnswering(
    `${unanswered} of the workers did not answer: an ejection may go on in them, a drain goes on in all, and it is not tried again; ask again when they answer, or are replaced`,
  )

const tooManyOverrides: AdminError = {
  status: 409,
  code: 'too-many-orders',
  detail: 'too many orders hold already: end some, or wait until their time is over',
}
