import type { ClientsSource, Config } from '../config.ts'
import { hashValue } from '../config-hash.ts'
import { configSchema } from '../config-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { type RenderedValue, Secret } from '../redact.ts'
import { renderMap } from '../schema/annotations.ts'
import { schemaKeys } from '../schema/schema-keys.ts'
import { clientSchema } from '../sections/clients.ts'
import { type ConfigReport, maxShownClients, showsClients } from './diff-reports.ts'

/**
 * Writes a configuration in the shape and the spelling of the file, every default filled in. Policies stand at each group, since
 * `defaults` has been merged into them. What is set to nothing is left out.
 */
export const renderEffectiveConfig = (config: Config): { readonly [key: string]: RenderedValue } => ({
  ...renderMap(configSchema, { version: 1, ...config, clients: [] }),
  clients: renderClients(config), // where they stand in the file
})

const renderClients = ({ clients, clientsSource: { parts } }: Config): RenderedValue =>
  parts.length === 1 && parts[0]?.file ? parts[0].file : renderClientParts(clients, parts)

const renderClientParts = (clients: Config['clients'], parts: ClientsSource['parts']): RenderedValue => {
  let start = 0
  return parts.flatMap(({ file, count }): readonly RenderedValue[] => {
    const ownClients = clients.slice(start, start + count)
    start += count
    if (file !== null) return [file]
    return clients.length <= maxShownClients
      ? ownClients.map((client) => renderMap(clientSchema, client))
      : [`${count} clients`]
  })
}

/** Reports on a configuration. It is made where the schema is loaded: the thread that serves gets it with the configuration. */
export const reportConfig = (config: Config): ConfigReport => {
  const tree = renderEffectiveConfig(config)
  const digests = collectSecrets(tree).map(
    ({ path, secret }) => [formatKeyPath(path), hashValue(secret.reveal())] as const,
  )
  // What is not shown of the clients, because it stands elsewhere or is too much, is one value like a secret: that it has changed is told.
  const clients = showsClients(config) ? {} : { clients: config.clientsSource.digest.slice(0, 12) }
  return { hash: config.hash, config: redacted(tree), digests: { ...Object.fromEntries(digests), ...clients } }
}

/** What a running gateway cannot change, by its key path: as the file writes it, of a map that it is there; null: it is not. */
export type RestartOnlySettings = { readonly [path: string]: string | null }

/** Lists what of a configuration needs a restart to be another. */
export const getRestartOnlySettings = ({ config }: ConfigReport): RestartOnlySettings =>
  Object.fromEntries(
    schemaKeys.flatMap(({ path, restart }) => {
      if (!restart) return []
      const name = formatKeyPath(path)
      const value = path.reduce<unknown>((tree, key) => Object(tree)[key], config)
      return [[name, value === undefined ? null : typeof value === 'object' ? name : String(value)]]
    }),
  )

const redacted = (tree: { readonly [key: string]: RenderedValue }): ConfigReport['config'] =>
  JSON.parse(JSON.stringify(tree))

/** Lists the secrets, each with where it stands. */
function collectSecrets(
  value: RenderedValue,
  path: KeyPath = [],
): readonly { readonly path: KeyPath; readonly secret: Secret }[] {
  if (value instanceof Secret) return [{ path, secret: value }]
  return typeof value === 'object'
    ? Object.entries(value).flatMap(([key, entry]) =>
        collectSecrets(entry as RenderedValue, [...path, Array.isArray(value) ? Number(key) : key]),
      )
    : []
}
