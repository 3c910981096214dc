import type { Config } from '../config.ts'
import { type ConfigChange, type ConfigReport, diffReports, showsClients } from './diff-reports.ts'

// Whoever has edited a few wants to see that it is those. The log is no place for thousands.
const maxNamed = 10

/** A configuration, and what may be shown of it. */
export interface ReportedConfig {
  readonly config: Config
  readonly report: ConfigReport
}

/** Lists what differs between two configurations, part by part in the order of the file; clients that are not shown by their names. */
export const diffConfigs = (from: ReportedConfig, to: ReportedConfig): readonly ConfigChange[] =>
  diffReports(from.report, to.report).flatMap((change) =>
    change.part === 'clients' ? [change, ...clientChanges(from.config, to.config)] : [change],
  )

/** Names clients that differ. What of them does may be a secret. */
const clientChanges = (from: Config, to: Config): readonly ConfigChange[] => {
  if (showsClients(from) && showsClients(to)) return []
  const [before, after] = [changedClientTexts(from.clients, to.clients), changedClientTexts(to.clients, from.clients)]
  const ids = [...new Map([...before, ...after]).keys()].filter((id) => before.get(id) !== after.get(id))
  const named = ids
    .slice(0, maxNamed)
    .map((id) => clientChange(`clients.${id}`, mask(before.get(id)), mask(after.get(id))))
  const more = ids.length - named.length
  return more === 0 ? named : [...named, clientChange('clients.*', null, `${more} more differ`)]
}

/** Writes the clients that are not in another list, by id. Those that an edit left alone are the very same objects in both. */
const changedClientTexts = (clients: Config['clients'], others: Config['clients']): ReadonlyMap<string, string> => {
  const known = new Set(others)
  return new Map(clients.flatMap((each) => (known.has(each) ? [] : [[each.id, JSON.stringify(each)]])))
}

const clientChange = (path: string, from: string | null, to: string | null): ConfigChange => ({
  part: 'clients',
  group: null,
  path,
  from,
  to,
})

const mask = (text: string | undefined): string | null => (text === undefined ? null : '***')
