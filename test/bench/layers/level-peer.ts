/** Starts the gateway of a level, with all that it needs beside it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pair } from '../../helpers/certificates.ts'
import { jwks } from '../../helpers/tokens.ts'
import { spanServer, spansAt, startBeside } from '../beside.ts'
import { certificates, writeCertificate } from '../peers/certificate.ts'
import { here, serveTree } from '../peers/gateway-tree.ts'
import type { Peer } from '../peers/peer.ts'
import type { Stage } from '../stage.ts'
import { issuerKey } from './brought.ts'
import { fileOf } from './file.ts'
import { idOf, type Level } from './levels.ts'
import { listed } from './listed.ts'

/** Makes the peer of a level. What stands in its list is noted in `lists`, by its name. */
export const peerOf = (level: Level, { atEnd }: Pick<Stage, 'atEnd'>, lists: Map<string, readonly string[]>): Peer => ({
  name: idOf(level),
  description: level.name,
  onRequest: false,
  quiet: level.on.access === 'false',
  brings: ({ shows = null }) => level.bring(shows).fields,
  start: async (site) => {
    const { directory, upstreamPort } = site
    const shows = level.tls ? await writePairs(directory) : null
    if (shows !== null && 'missing' in shows) return shows
    writeSecrets(directory)
    const beside = {
      introspection: level.on.auth?.includes('INTROSPECTION') === true ? await startIntrospection(atEnd) : null,
      receiver: level.on.tracing === undefined ? null : await startReceiver(atEnd),
    }
    const text = (port: number): string => fileOf(level, { port, upstreamPort, directory, ...beside })
    const running = await serveTree(here, site, text, level.tls ? 'https' : 'http', shows)
    lists.set(idOf(level), listed(join(directory, 'gateway.yaml')))
    return running
  },
})

/** Writes what the files of all levels may name. */
export const writeSecrets = (directory: string): void => {
  writeFileSync(join(directory, 'audit-key'), 'k'.repeat(32))
  writeFileSync(join(directory, 'jwks.json'), jwks(issuerKey))
}

/** Writes what a gateway shows and whom it believes, and gives what its clients show; or the reason why there is none. */
export const writePairs = async (directory: string): Promise<Pair | { readonly missing: string }> => {
  const [files, made] = [await writeCertificate(directory), await certificates()]
  if ('missing' in files) return files
  if ('missing' in made) return made
  writeFileSync(join(directory, 'clients-ca.pem'), made.authority.cert)
  return made.bankA
}

/** Starts a server of its own to be asked about tokens, and gives where. */
const startIntrospection = async (atEnd: Stage['atEnd']): Promise<string> => {
  const server = await startBeside('layers/introspection-server.ts')
  atEnd(server.stop)
  return `http://127.0.0.1:${server.port}/introspect`
}

/** Starts one that takes spans, and gives where. */
const startReceiver = async (atEnd: Stage['atEnd']): Promise<string> => {
  const server = await startBeside(spanServer)
  atEnd(server.stop)
  return spansAt(server)
}
