import { allOperations, type Group, groups } from '../../operations.ts'
import { type EndpointOverrideState, isDrained, toEndpointKey } from '../../runtime/overrides.ts'
import type { UpstreamReport } from '../../runtime/report/status-report.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { html } from '../page/html.ts'
import { applyOverride, overrideDefaults, overrideHelp, stoppingError, untilOrAsFile } from './apply-override.ts'
import { badRequest, choiceArgument, textArgument, ttlArgument, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { paragraphs, pluralize, spellDuration, untilPhrase } from './phrases.ts'

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
  readonly place: EndpointState
  /** All endpoints of the group, this one included. */
  readonly places: readonly EndpointState[]
  /** For how long; null: from now on the file's word holds, which is the same. */
  readonly ttlMs: number | null
}

interface EndpointCommandResult {
  readonly group: Group
  readonly url: string
  readonly state: EndpointOverrideState
  /** Null: the file's word holds. */
  readonly until: string | null
}

type EndpointCommand = Command<ValuesOf<typeof args>, Plan, EndpointCommandResult>

/** Makes what both commands do: the file is not touched, and holds again afterwards. */
const stateCommand = (state: EndpointOverrideState) =>
  ({
    ...overrideDefaults,
    choice: state,
    page: state,
    path: `/endpoints/${state}`,
    async plan(context, { group, url, ttl }) {
      const report = await context.report() // first, so that what follows is decided at once
      const places = getEndpointStates(context, group, report.upstreams[group])
      const place = places.find((each) => each.url === url)
      if (place === undefined)
        return badRequest(`url is expected to be one of ${listUrls(places)}, as /status shows them`)
      if (context.draining()) return stoppingError
      const back = state === 'ready' && !place.drainedByFile
      if (!back && !context.overrides.endpoints.hasRoomFor(toEndpointKey(group, url))) return tooManyOverrides
      const rejection = state === 'drain' ? rejectLastEndpoint(group, place, places) : null
      return rejection ?? { group, place, places, ttlMs: back ? null : ttl }
    },
    async run(context, { group, place: { url }, ttlMs }) {
      const applied = await applyOverride(context, context.overrides.endpoints, {
        key: toEndpointKey(group, url),
        state,
        ttlMs,
      })
      if (isAdminError(applied)) return applied
      // An endpoint that is said to be ready is believed: if traffic has taken it out, it is let in again at once.
      if (state === 'ready') await context.runEverywhere('uneject', { group, url })
      return { group, url, state, until: applied.until }
    },
    event: 'endpoint order',
    fields: ({ url: endpoint, ...rest }) => ({ endpoint, ...rest }),
  }) satisfies Partial<EndpointCommand>

const drainCommand: EndpointCommand = {
  ...stateCommand('drain'),
  confirmation(_, { group, place, places, ttlMs }) {
    const others = places.filter(({ url, takesWork }) => url !== place.url && takesWork)
    return {
      title: `Drain ${place.url}?`,
      what: paragraphs(
        html`${place.url} of ${group} gets no new requests for ${spellDuration(ttlMs ?? 0)}. What it has in flight, ${pluralize(place.inFlight, 'request')} just now, it finishes.`,
        place.takesWork ? null : 'It gets none at present either.',
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
  confirmation: (_, { group, place, ttlMs }) => ({
    title: `Make ${place.url} ready?`,
    what: paragraphs(
      ttlMs === null
        ? html`${place.url} of ${group} gets new requests again, from now on, as the file says.`
        : html`The file drains ${place.url} of ${group}. It gets new requests all the same for ${spellDuration(ttlMs)}, and then none again.`,
      place.outage === 'ejected'
        ? 'Its requests have failed, which took it out. It is believed that this is over, and let in at once.'
        : null,
      place.outage === 'down'
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

/** Has an endpoint take no new requests for a while, or take them again. */
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

/** An endpoint as it stands behind a group just now, with what was ordered but is not in effect yet. */
interface EndpointState {
  readonly url: string
  readonly inFlight: number
  /** Whether the file has it drain. */
  readonly drainedByFile: boolean
  /** Whether it gets new work when it can. */
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
    // One that stands there twice is ordered as one.
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

/** Refuses to drain the last endpoint that takes work, or the last healthy one; null: another one is there for it. */
const rejectLastEndpoint = (
  group: Group,
  place: EndpointState,
  places: readonly EndpointState[],
): AdminError | null => {
  const others = places.filter(({ url, takesWork }) => url !== place.url && takesWork)
  const enough = others.some(({ outage }) => outage === null) || (place.outage !== null && others.length > 0)
  if (!place.takesWork || enough) return null
  const out = others.map(({ url, outage }) => `${url} is ${outage}`).join(', ')
  const drained = places.find(({ url, takesWork }) => url !== place.url && !takesWork)
  const ready = drained === undefined ? '' : ` (endpoint ready ${group} ${drained.url})`
  const refuse = allOperations.flatMap((row) => (row.group === group ? [`operation refuse ${row.id}`] : []))
  return {
    status: 409,
    code: 'last-endpoint',
    detail: `no other endpoint of ${group} takes work${out === '' ? '' : ` (${out})`}: make another one ready first${ready}, add one in the file, or take its operations out of service (${refuse.join('; ')})`,
  }
}

// A group may have hundreds.
const maxShown = 20

const listUrls = (places: readonly EndpointState[]): string => {
  const urls = places.slice(0, maxShown).map(({ url }) => url)
  const more = places.length - urls.length
  return [...urls, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

const tooManyOverrides: AdminError = {
  status: 409,
  code: 'too-many-orders',
  detail: 'too many orders hold already: end some, or wait until their time is over',
}
