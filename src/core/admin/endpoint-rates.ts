import { type Group, groups, type Side } from '../../operations.ts'
import { reportedSides } from '../exchange/sides.ts'
import { now } from '../lib/clock.ts'
import { asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../lib/text/decode.ts'
import { pluck, sum } from '../log/sum-reports.ts'
import type { EndpointReport } from '../runtime/status/endpoint.ts'
import type { StatusReport } from '../runtime/status/report.ts'
import type { SideReport } from '../runtime/status/side.ts'

/** Rates are per second, over the last 10 s. */
export const endpointRateShape = asObject({
  group: asWord<Group>(),
  side: asWord<Side>(),
  url: asText,
  perSecond: asNumber,
  errorsPerSecond: asNumber,
  /** The fraction of its side's requests, from 0 to 1. Null: there were none. */
  share: asNullable(asNumber),
})

export type EndpointRate = Decoded<typeof endpointRateShape>

type Upstreams = Pick<StatusReport, 'upstreams'>['upstreams']

interface EndpointSample {
  readonly at: number
  readonly counts: ReadonlyMap<string, Pick<EndpointReport, 'requests' | 'failures'>>
}

const windowMs = 10_000
// With one sample every 5 s, the oldest is at least 10 s old.
const keptSamples = 4

export class EndpointRates {
  #samples: readonly EndpointSample[] = []

  sample(upstreams: Upstreams): void {
    const counts = new Map(listEndpoints(upstreams).map(({ key, counts }) => [key, counts] as const))
    this.#samples = [...this.#samples, { at: now(), counts }].slice(-keptSamples)
  }

  /** For endpoints known 10 s ago, or at the first sample. */
  rates(upstreams: Upstreams): readonly EndpointRate[] {
    const at = now()
    const from = this.#samples.findLast((sample) => sample.at <= at - windowMs) ?? this.#samples[0]
    if (from === undefined) return []
    const seconds = Math.max(0.001, (at - from.at) / 1000)
    const rates = listEndpoints(upstreams).flatMap(({ key, group, side, url, counts }) => {
      const before = from.counts.get(key)
      if (before === undefined) return []
      // An endpoint that was closed and opened again counts from 0.
      const rate = (name: 'requests' | 'failures') => Math.max(0, counts[name] - before[name]) / seconds
      return [{ group, side, url, perSecond: rate('requests'), errorsPerSecond: rate('failures') }]
    })
    const totals = Map.groupBy(rates, ({ group, side }) => `${group} ${side}`)
    return rates.map((each) => {
      const all = sum(pluck(totals.get(`${each.group} ${each.side}`) ?? [], 'perSecond'))
      return { ...each, share: all === 0 ? null : each.perSecond / all }
    })
  }
}

const listEndpoints = (upstreams: Upstreams) =>
  groups.flatMap((group) =>
    reportedSides<SideReport>(upstreams[group]).flatMap(({ side, report }) =>
      report.endpoints.map(({ url, requests, failures }) => ({
        key: `${group} ${side} ${url}`,
        group,
        side,
        url,
        counts: { requests, failures },
      })),
    ),
  )
