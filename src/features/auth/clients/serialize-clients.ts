import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Config } from '../../../core/config/config.ts'
import type { ConfigChange } from '../../../core/config/diff/diff-values.ts'
import type { ConfigTransfer } from '../../../core/config/transfer-part.ts'
import { deepFreeze } from '../../../core/lib/plain-object.ts'

type Clients = Config['clients']
type ClientConfig = Clients[number]

// 500 clients take a few milliseconds of the serving thread.
const clientsPerTurn = 500

const serializedCache = new WeakMap<Clients, readonly string[]>()

/** Texts: they cross to another thread or process many times faster than objects. */
export const serializeClients = (clients: Clients): readonly string[] => {
  const texts = serializedCache.get(clients) ?? clients.map((client) => JSON.stringify(client))
  serializedCache.set(clients, texts)
  return texts
}

/** Over several turns of the event loop. Clients, or a list, equal to those of `running` become the same objects. */
export const deserializeClients = async (texts: readonly string[], running: Clients): Promise<Clients> => {
  const before = new Map(serializeClients(running).map((text, nth) => [text, running[nth]]))
  const clients: ClientConfig[] = []
  let isSame = texts.length === running.length
  for (const [nth, text] of texts.entries()) {
    if (nth % clientsPerTurn === clientsPerTurn - 1) await nextTurn()
    const client = before.get(text) ?? deepFreeze(JSON.parse(text) as ClientConfig)
    isSame &&= client === running[nth]
    clients.push(client)
  }
  if (isSame) return Object.freeze(running)
  serializedCache.set(Object.freeze(clients), texts)
  return clients
}

export const clientsDigest = (clients: Clients): string =>
  clients.length === 0 ? '' : hash('sha256', serializeClients(clients).join('\n'))

/** More are not readable, and each reload compares and writes all clients of a report. */
export const maxShownClients = 100

export const showsClients = ({ clients, clientsSource: { parts } }: Config): boolean =>
  clients.length <= maxShownClients && parts.every((part) => part.file === null)

// More names would flood the log.
const maxNamed = 10

/** Masks values, because they may be secrets. */
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

/** By id. */
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

export const transfer: ConfigTransfer = {
  unhashed: ({ clientsSource }) => ({ clientsSource }), // the report shows the position of each client
  identify: ({ clients, clientsSource }) => ({
    clients: clients.length === 0 ? clients : clientsSource.digest,
    clientsSource: undefined, // moving clients between files changes nothing
  }),
  authorities: ({ auth }) => ({ path: ['auth', 'mtls', 'ca'], text: auth?.mtls.ca ?? '' }),
  detailChange: ({ part }, from, to) => (part === 'clients' ? clientChanges(from, to) : []),
  // Workers talk to clients; only the primary talks to operators.
  pack({ admin, clients, ...config }, to) {
    const sent = { ...config, admin: to === 'worker' ? { ...admin, jwt: null } : admin, clients: [] }
    return [sent, serializeClients(clients)]
  },
  unpack: async (left, texts, running) =>
    Object.freeze({ ...left, clients: await deserializeClients(texts as readonly string[], running?.clients ?? []) }),
}
