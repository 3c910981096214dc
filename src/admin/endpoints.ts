import { catalog, type Group, groups } from '../catalog.ts'
import { type EndpointOrder, isDrained, keyOf } from '../snapshot/overrides.ts'
import type { UpstreamReport } from '../snapshot/report.ts'
import type { Desk } from './desk.ts'
import { bad, putIntoEffect, readOrder, stopping } from './orders.ts'
import { isRefusal, type Refusal } from './problem.ts'
import { time } from './time.ts'

/** Tells what was ordered of an endpoint; `until` is null when the file's word holds. */
export interface EndpointDone {
  readonly group: Group
  readonly url: string
  readonly state: EndpointOrder
  readonly until: string | null
}

/**
 * Has an endpoint take no new work for a time, or take it again: the file is not touched, and holds again afterwards. An endpoint that is
 * said to be ready is believed: if traffic has taken it out, it is let in again at once.
 */
export const order = (desk: Desk, state: EndpointOrder, body: string): Promise<EndpointDone | Refusal> =>
  desk.overrides.inTurn(() => give(desk, state, body))

/** Is an order about an endpoint, as it was read. */
export interface EndpointAsked {
  readonly group: Group
  readonly state: EndpointOrder
  readonly place: Place
  /** All endpoints of the group, this one included. */
  readonly places: readonly Place[]
  /** For how long; null: from now on the file's word holds, which is the same. */
  readonly ttlMs: number | null
}

/** Reads an order about an endpoint, and says what speaks against it. */
export const readEndpointOrder = async (
  desk: Desk,
  state: EndpointOrder,
  body: string,
): Promise<EndpointAsked | Refusal> => {
  const given = readOrder(body, { group: 'risk', url: 'http://risk-a.internal:8080' })
  if ('detail' in given) return given
  const group = groups.find((each) => each === given.said.group)
  if (group === undefined) return bad(`group is expected to be one of ${groups.join(', ')}`)
  const report = await desk.report() // first, so that what follows is decided at once
  const places = placesOf(desk, group, report.upstreams[group])
  const place = places.find(({ url }) => url === given.said.url)
  if (place === undefined) return bad(`url is expected to be one of ${shown(places)}, as /status shows them`)
  if (desk.draining()) return stopping
  const back = state === 'ready' && !place.byFile
  if (!back && !desk.overrides.endpoints.hasRoomFor(keyOf(group, place.url))) return tooMany
  const refusal = state === 'drain' ? lastOne(group, place, places) : null
  return refusal ?? { group, state, place, places, ttlMs: back ? null : given.ttlMs }
}

const give = async (desk: Desk, state: EndpointOrder, body: string): Promise<EndpointDone | Refusal> => {
  const order = await readEndpointOrder(desk, state, body)
  if (isRefusal(order)) return order
  const {
    group,
    place: { url },
    ttlMs,
  } = order
  const { endpoints } = desk.overrides
  const key = keyOf(group, url)
  const before = endpoints.of(key)
  const set = ttlMs === null ? null : endpoints.set(key, state, ttlMs)
  if (set === null) endpoints.end(key)
  const refusal = await putIntoEffect(desk, () => endpoints.takeBack(key, before))
  if (refusal !== null) return refusal
  if (state === 'ready') desk.lift(group, url)
  return { group, url, state, until: set === null ? null : time(set.until) }
}

/** Is an endpoint as it stands behind a group just now, what was ordered but is not in effect yet included. */
export interface Place {
  readonly url: string
  /** How much it has in flight. */
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
