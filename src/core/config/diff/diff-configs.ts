import type { Config } from '../config.ts'
import { type ConfigChange, type ConfigReport, diffReports, showsClients } from './diff-reports.ts'

// An operator who has edited a few clients wants to see their names. The log is no place for thousands.
const maxNamed = 10

export interface ReportedConfig {
  readonly config: Config
  readonly report: ConfigReport
}

/** Lists what differs, in the order of the file. Clients that the report leaves out appear by name. */
export const diffConfigs = (from: ReportedConfig, to: ReportedConfig): readonly ConfigChange[] =>
  diffReports(from.report, to.report).flatMap((change) =>
    change.part === 'clients' ? [change, ...clientChanges(from.config, to.config)] : [change],
  )

/** Names the clients that differ. Their values are masked: they may be secrets. */
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

/** Serializes the clients that are not in `others`, by id. Unchanged clients are the same objects in both lists. */
const changedClientTexts = (clients: Config['clients'], others: Config['clients']): ReadonlyMap<string, string> => {
  const known = new Set(others)
  return new Map(clients.flatMap((client) => (known.has(client) ? [] : [[client.id, JSON.stringify(client)]])))
}

const clientChange = (path: string, from: string | null, to: string | null): ConfigChange => ({
  part: 'clients',
  group: null,
  path,
  from,
  to,
})

const mask = (text: string | undefined): string | null => (text === undefined ? null : '***')
