import { type Place, readEndpointOrder } from '../../endpoints.ts'
import { isRefusal } from '../../problem.ts'
import { html } from '../html.ts'
import type { Action, Said } from './action.ts'
import { many, paragraphs, spoken, untilThen } from './words.ts'

const takes = ['group', 'url', 'ttl']
const body = (said: Said): string => JSON.stringify(said)

/** Has an endpoint take no new requests for a while. */
export const drain: Action = {
  name: 'drain',
  takes,
  async ask(desk, said) {
    const order = await readEndpointOrder(desk, 'drain', body(said))
    if (isRefusal(order)) return order
    const { group, place, places, ttlMs } = order
    const others = places.filter(({ url, takes }) => url !== place.url && takes)
    return {
      title: `Drain ${place.url}?`,
      what: paragraphs(
        html`${place.url} of ${group} gets no new requests for ${spoken(ttlMs ?? 0)}. What it has in flight, ${many(place.inFlight, 'request')} just now, it finishes.`,
        place.takes ? null : 'It gets none at present either.',
        others.length === 0 ? null : html`${group} is then served by ${others.map(shown).join(', ')}.`,
        'After that time the file’s word holds again. To end it before, make the endpoint ready.',
      ),
      ttlMs,
      button: 'Drain',
    }
  },
  async act(orders, said) {
    const done = await orders.endpoint('drain', body(said))
    return isRefusal(done) ? done : `${done.url} of ${done.group} gets no new requests${untilThen(done.until)}.`
  },
}

/** Has an endpoint take requests again. */
export const ready: Action = {
  name: 'ready',
  takes,
  async ask(desk, said) {
    const order = await readEndpointOrder(desk, 'ready', body(said))
    if (isRefusal(order)) return order
    const { group, place, ttlMs } = order
    return {
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
    }
  },
  async act(orders, said) {
    const done = await orders.endpoint('ready', body(said))
    return isRefusal(done) ? done : `${done.url} of ${done.group} gets new requests again${untilThen(done.until)}.`
  },
}

const shown = ({ url, outage }: Place): string => (outage === null ? url : `${url} (${outage})`)
