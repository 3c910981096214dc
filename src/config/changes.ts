import type { Config } from './config.ts'
import { type Change, type ConfigReport, difference, showsClients } from './diff.ts'

// Whoever has edited a few wants to see that it is those. The log is no place for thousands.
const mostNamed = 10

/** A configuration, and what may be shown of it. */
export interface Reported {
  readonly config: Config
  readonly report: ConfigReport
}

/** Lists what differs between two configurations, part by part in the order of the file; clients that are not shown by their names. */
export const changesBetween = (from: Reported, to: Reported): readonly Change[] =>
  difference(from.report, to.report).flatMap((change) =>
    change.part === 'clients' ? [change, ...clientChanges(from.config, to.config)] : [change],
  )

/** Names clients that differ. What of them does may be a secret. */
const clientChanges = (from: Config, to: Config): readonly Change[] => {
  if (showsClients(from) && showsClients(to)) return []
  const [before, after] = [textsWithout(from.clients, to.clients), textsWithout(to.clients, from.clients)]
  const ids = [...new Map([...before, ...after]).keys()].filter((id) => before.get(id) !== after.get(id))
  const named = ids.slice(0, mostNamed).map((id) => change(`clients.${id}`, mask(before.get(id)), mask(after.get(id))))
  const more = ids.length - named.length
  return more === 0 ? named : [...named, change('clients.*', null, `${more} more differ`)]
}

/** Writes the clients that are not in another list, by id. Those that an edit left alone are the very same objects in both. */
const textsWithout = (clients: Config['clients'], others: Config['clients']): ReadonlyMap<string, string> => {
  const known = new Set(others)
  return new Map(clients.flatMap((each) => (known.has(each) ? [] : [[each.id, JSON.stringify(each)]])))
}

const change = (path: string, from: string | null, to: string | null): Change => ({
  part: 'clients',
  group: null,
  path,
  from,
  to,
})

const mask = (said: string | undefined): string | null => (said === undefined ? null : '***')
