import { catalog, type Group, groups } from '../../catalog.ts'
import { type EndpointOrder, isDrained, keyOf } from '../../snapshot/overrides.ts'
import type { UpstreamReport } from '../../snapshot/report.ts'
import type { Desk } from '../desk.ts'
import { html } from '../page/html.ts'
import { isRefusal, type Refusal } from '../problem.ts'
import { anyText, bad, oneOf, ttl, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { applyOverride, overrideAnswer, overrideHelp, stopping, thenTheFile } from './override.ts'
import { many, paragraphs, spoken, untilThen } from './words.ts'

const args = {
  group: oneOf(groups, { usage: '<GROUP>', help: 'behind which group it stands', example: 'risk' }),
  url: anyText({
    usage: '<URL>',
    help: 'which of them, as status shows it',
    example: 'http://risk-a.internal:8080',
  }),
  ttl,
}

interface Plan {
  readonly group: Group
  readonly place: Place
  /** All endpoints of the group, this one included. */
  readonly places: readonly Place[]
  /** For how long; null: from now on the file's word holds, which is the same. */
  readonly ttlMs: number | null
}

interface Result {
  readonly group: Group
  readonly url: string
  readonly state: EndpointOrder
  /** Null: the file's word holds. */
  readonly until: string | null
}

type EndpointCommand = Command<ValuesOf<typeof args>, Plan, Result>

/** Makes what both commands do: the file is not touched, and holds again afterwards. */
const common = (state: EndpointOrder) =>
  ({
    ...overrideAnswer,
    choice: state,
    page: state,
    path: `/endpoints/${state}`,
    async plan(desk, { group, url, ttl }) {
      const report = await desk.report() // first, so that what follows is decided at once
      const places = placesOf(desk, group, report.upstreams[group])
      const place = places.find((each) => each.url === url)
      if (place === undefined) return bad(`url is expected to be one of ${shown(places)}, as /status shows them`)
      if (desk.draining()) return stopping
      const back = state === 'ready' && !place.byFile
      if (!back && !desk.overrides.endpoints.hasRoomFor(keyOf(group, url))) return tooMany
      const refusal = state === 'drain' ? lastOne(group, place, places) : null
      return refusal ?? { group, place, places, ttlMs: back ? null : ttl }
    },
    async run(desk, { group, place: { url }, ttlMs }) {
      const held = await applyOverride(desk, desk.overrides.endpoints, { key: keyOf(group, url), state, ttlMs })
      if (isRefusal(held)) return held
      // An endpoint that is said to be ready is believed: if traffic has taken it out, it is let in again at once.
      if (state === 'ready') await desk.command('lift', { group, url })
      return { group, url, state, until: held.until }
    },
    event: 'endpoint order',
    fields: ({ url: endpoint, ...rest }) => ({ endpoint, ...rest }),
  }) satisfies Partial<EndpointCommand>

const drain: EndpointCommand = {
  ...common('drain'),
  confirmation(_, { group, place, places, ttlMs }) {
    const others = places.filter(({ url, takes }) => url !== place.url && takes)
    return {
      title: `Drain ${place.url}?`,
      what: paragraphs(
        html`${place.url} of ${group} gets no new requests for ${spoken(ttlMs ?? 0)}. What it has in flight, ${many(place.inFlight, 'request')} just now, it finishes.`,
        place.takes ? null : 'It gets none at present either.',
        others.length === 0
          ? null
          : html`${group} is then served by ${others.map(({ url, outage }) => (outage === null ? url : `${url} (${outage})`)).join(', ')}.`,
        'After that time the file’s word holds again. To end it before, make the endpoint ready.',
      ),
      ttlMs,
      button: 'Drain',
    }
  },
  done: ({ group, url, until }) => `${url} of ${group} gets no new requests${untilThen(until)}.`,
  printed: ({ group, url }, { until }) => `${url} of ${group} takes no new requests ${thenTheFile(until)}`,
  links: {
    endpoint: ({ group, url, state }) =>
      state === 'draining' ? null : { given: { group, url }, words: 'Drain', about: `${url} of ${group}` },
  },
}

const ready: EndpointCommand = {
  ...common('ready'),
  confirmation: (_, { group, place, ttlMs }) => ({
    title: `Make ${place.url} ready?`,
    what: paragraphs(
      ttlMs === null
        ? html`${place.url} of ${group} gets new requests again, from now on, as the file says.`
        : html`The file drains ${place.url} of ${group}. It gets new requests all the same for ${spoken(ttlMs)}, and then none again.`,
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
  done: ({ group, url, until }) => `${url} of ${group} gets new requests again${untilThen(until)}.`,
  printed: ({ group, url }, { until }) => `${url} of ${group} takes requests ${thenTheFile(until)}`,
  links: {
    endpoint: ({ group, url, state }) =>
      state === 'draining' || state === 'ejected'
        ? { given: { group, url }, words: 'Ready', about: `${url} of ${group}` }
        : null,
  },
}

/** Has an endpoint take no new requests for a while, or take them again. */
export const endpoint: CommandGroup = {
  name: 'endpoint',
  description: 'Have one endpoint of a group take no new requests for a while, or take them again.',
  choice: { usage: '<STATE>', help: 'what it is to do' },
  args,
  ...overrideHelp,
  examples: [
    'endpoint drain risk http://risk-a.internal:8080 --ttl 30m',
    'endpoint ready risk http://risk-a.internal:8080',
  ],
  commands: [drain, ready],
}

/** An endpoint as it stands behind a group just now, with what was ordered but is not in effect yet. */
interface Place {
  readonly url: string
  readonly inFlight: number
  /** Whether the file has it drain. */
  readonly byFile: boolean
  /** Whether it gets new work when it can. */
  readonly takes: boolean
  /** Why it gets none at present, though it would; null: it does. */
  readonly outage: string | null
}

const placesOf = (
  { reloader, overrides }: Desk,
  group: Group,
  { endpoints: reported }: UpstreamReport,
): readonly Place[] => {
  const { endpoints } = reloader.config.upstreams[group]
  return reported.map(({ url, inFlight, state: { name: state } }) => {
    // One that stands there twice is ordered as one.
    const same = endpoints.filter(({ origin, pathPrefix }) => origin + pathPrefix === url)
    const isReady = (byFile: boolean): boolean => !isDrained(overrides.endpoints, keyOf(group, url), byFile)
    return {
      url,
      inFlight,
      byFile: same.some(({ drain }) => drain),
      takes: same.some(({ weight, drain }) => weight > 0 && isReady(drain)),
      outage: state === 'down' || state === 'ejected' ? state : null,
    }
  })
}

/** Refuses to drain the last endpoint that takes work, or the last healthy one; null: another one is there for it. */
const lastOne = (group: Group, place: Place, places: readonly Place[]): Refusal | null => {
  const others = places.filter(({ url, takes }) => url !== place.url && takes)
  const enough = others.some(({ outage }) => outage === null) || (place.outage !== null && others.length > 0)
  if (!place.takes || enough) return null
  const out = others.map(({ url, outage }) => `${url} is ${outage}`).join(', ')
  const drained = places.find(({ url, takes }) => url !== place.url && !takes)
  const ready = drained === undefined ? '' : ` (endpoint ready ${group} ${drained.url})`
  const refuse = catalog.flatMap((row) => (row.group === group ? [`operation refuse ${row.id}`] : []))
  return {
    status: 409,
    code: 'last-endpoint',
    detail: `no other endpoint of ${group} takes work${out === '' ? '' : ` (${out})`}: make another one ready first${ready}, add one in the file, or take its operations out of service (${refuse.join('; ')})`,
  }
}

// A group may have hundreds.
const maxShown = 20

const shown = (places: readonly Place[]): string => {
  const urls = places.slice(0, maxShown).map(({ url }) => url)
  const more = places.length - urls.length
  return [...urls, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

const tooMany: Refusal = {
  status: 409,
  code: 'too-many-orders',
  detail: 'too many orders hold already: end some, or wait until their time is over',
}
