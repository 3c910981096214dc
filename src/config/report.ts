import type { ClientsSource, Config } from './config.ts'
import { type ConfigReport, mostShown, showsClients } from './diff.ts'
import { hashOf } from './hash.ts'
import { formatPath, type Path } from './problem.ts'
import { clientSchema } from './schema/clients.ts'
import { writtenMap } from './schema/facts.ts'
import { places } from './schema/places.ts'
import { configSchema } from './schema.ts'
import { type Effective, Secret } from './shown.ts'

/**
 * Writes a configuration in the shape and the spelling of the file, every default filled in. Policies stand at each group, since
 * `defaults` has been merged into them. What is set to nothing is left out.
 */
export const effective = (config: Config): { readonly [key: string]: Effective } => ({
  ...writtenMap(configSchema, { version: 1, ...config, clients: [] }),
  clients: clientsOf(config), // where they stand in the file
})

const clientsOf = ({ clients, clientsSource: { parts } }: Config): Effective =>
  parts.length === 1 && parts[0]?.file ? parts[0].file : listed(clients, parts)

const listed = (clients: Config['clients'], parts: ClientsSource['parts']): Effective => {
  let start = 0
  return parts.flatMap(({ file, count }): readonly Effective[] => {
    const own = clients.slice(start, start + count)
    start += count
    if (file !== null) return [file]
    return clients.length <= mostShown ? own.map((client) => writtenMap(clientSchema, client)) : [`${count} clients`]
  })
}

/** Reports on a configuration. It is made where the schema is loaded: the thread that serves gets it with the configuration. */
export const report = (config: Config): ConfigReport => {
  const tree = effective(config)
  const digests = secretsIn(tree).map(({ path, secret }) => [formatPath(path), hashOf(secret.reveal())] as const)
  // What is not shown of the clients, because it stands elsewhere or is too much, is one value like a secret: that it has changed is told.
  const clients = showsClients(config) ? {} : { clients: config.clientsSource.digest.slice(0, 12) }
  return { hash: config.hash, config: masked(tree), digests: { ...Object.fromEntries(digests), ...clients } }
}

/** What a running gateway cannot change, by its key path: as the file writes it, of a map that it is there; null: it is not. */
export type Fixed = { readonly [path: string]: string | null }

/** Lists what of a configuration needs a restart to be another. */
export const fixedIn = ({ config }: ConfigReport): Fixed =>
  Object.fromEntries(
    places.flatMap(({ path, restart }) => {
      if (!restart) return []
      const name = formatPath(path)
      const value = path.reduce<unknown>((tree, key) => Object(tree)[key], config)
      return [[name, value === undefined ? null : typeof value === 'object' ? name : String(value)]]
    }),
  )

const masked = (tree: { readonly [key: string]: Effective }): ConfigReport['config'] => JSON.parse(JSON.stringify(tree))

/** Lists the secrets, each with where it stands. */
function secretsIn(value: Effective, path: Path = []): readonly { readonly path: Path; readonly secret: Secret }[] {
  if (value instanceof Secret) return [{ path, secret: value }]
  return typeof value === 'object'
    ? Object.entries(value).flatMap(([key, entry]) =>
        secretsIn(entry as Effective, [...path, Array.isArray(value) ? Number(key) : key]),
      )
    : []
}
