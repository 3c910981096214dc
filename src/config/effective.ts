import type { ClientsSource, Config } from './config.ts'
import { mostShown } from './diff.ts'
import { clientSchema } from './schema/clients.ts'
import { writtenMap } from './schema/facts.ts'
import { configSchema } from './schema.ts'
import type { Effective } from './shown.ts'

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
