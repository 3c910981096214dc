import { clientSchema } from '../../../features/clients/config.ts'
import type { ClientsSource, Config } from '../config.ts'
import { hashValue } from '../config-hash.ts'
import { configSchema } from '../config-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { type RenderedValue, Secret } from '../redact.ts'
import { renderMap } from '../schema/render.ts'
import { schemaKeys } from '../schema/schema-keys.ts'
import { type ConfigReport, maxShownClients, showsClients } from './diff-reports.ts'

/**
 * Renders a configuration in the shape and the spelling of the file, with every default filled in. Policies stand at
 * each group, since `defaults` has been merged into them. Keys without a value are left out.
 */
export const renderEffectiveConfig = (config: Config): { readonly [key: string]: RenderedValue } => ({
  ...renderMap(configSchema, { version: 1, ...config, clients: [] }),
  clients: renderClients(config), // keeps the place of the key in the file
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

/** Makes the report of a configuration. The loading thread does it, since the serving thread has no schema. */
export const reportConfig = (config: Config): ConfigReport => {
  const tree = renderEffectiveConfig(config)
  const digests = collectSecrets(tree).map(
    ({ path, secret }) => [formatKeyPath(path), hashValue(secret.reveal())] as const,
  )
  // Clients that the report leaves out are one value with a digest, like a secret: a change still shows.
  const clients = showsClients(config) ? {} : { clients: config.clientsSource.digest.slice(0, 12) }
  const contract = config.compiledContract && { 'contract.file': config.compiledContract.digest.slice(0, 12) }
  return {
    hash: config.hash,
    config: redacted(tree),
    digests: { ...Object.fromEntries(digests), ...clients, ...contract },
  }
}

/** Settings that need a restart, by key path: the value as the file writes it, for a map its path; null: not set. */
export type RestartOnlySettings = { readonly [path: string]: string | null }

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
