/** Starts the gateway of a level, with all that it needs beside it. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Pair } from '../../../test/helpers/certificates.ts'
import { program } from '../../../test/helpers/program.ts'
import { startRedis } from '../../../test/helpers/redis.ts'
import { jwks } from '../../../test/helpers/tokens.ts'
import { certificates, writeCertificate } from '../peers/certificate.ts'
import { projectRoot, serveTree } from '../peers/gateway-tree.ts'
import type { Peer } from '../peers/peer.ts'
import { spanServer, spansUrl, startSideServer } from '../side-server.ts'
import type { Stage } from '../stage.ts'
import { benchContract } from './bench-contract.ts'
import { issuerKey } from './credentials.ts'
import { readLayerList } from './layer-list.ts'
import { renderLevelConfig } from './level-config.ts'
import { type Level, toLevelId } from './levels.ts'

/** Makes the peer of a level. What stands in its list is noted in `lists`, by its name. */
export const createLevelPeer = (
  level: Level,
  { atEnd }: Pick<Stage, 'atEnd'>,
  lists: Map<string, readonly string[]>,
): Peer => ({
  name: toLevelId(level),
  description: level.name,
  onRequest: false,
  quiet: level.on.access === 'false',
  brings: ({ shows = null }) => level.bring(shows).fields,
  start: async (site) => {
    const { directory, upstreamPort } = site
    const shows = level.tls ? await writePairs(directory) : null
    if (shows !== null && 'missing' in shows) return shows
    writeSecrets(directory)
    const redis = level.on.idempotency?.includes('REDIS') === true ? await startOwnRedis(atEnd) : null
    if (redis !== null && typeof redis !== 'string') return redis
    const beside = {
      redis,
      introspection: level.on.auth?.includes('INTROSPECTION') === true ? await startIntrospection(atEnd) : null,
      receiver: level.on.tracing === undefined ? null : await startReceiver(atEnd),
    }
    const text = (port: number): string => renderLevelConfig(level, { port, upstreamPort, directory, ...beside })
    const running = await serveTree(resolve(level.tree ?? projectRoot), site, text, level.tls ? 'https' : 'http', shows)
    lists.set(toLevelId(level), readLayerList(join(directory, 'gateway.yaml')))
    return running
  },
})

/** Writes what the files of all levels may name. */
export const writeSecrets = (directory: string): void => {
  writeFileSync(join(directory, 'audit-key'), 'k'.repeat(32))
  writeFileSync(join(directory, 'idempotency-key'), Buffer.alloc(32, 'k').toString('base64'))
  writeFileSync(join(directory, 'jwks.json'), jwks(issuerKey))
  writeFileSync(join(directory, 'contract.json'), JSON.stringify(benchContract))
}

/**
 * Writes what a gateway shows and whom it believes, and gives what its clients show; or the reason why there is none.
 */
export const writePairs = async (directory: string): Promise<Pair | { readonly missing: string }> => {
  const [files, made] = [await writeCertificate(directory), await certificates()]
  if ('missing' in files) return files
  if ('missing' in made) return made
  writeFileSync(join(directory, 'clients-ca.pem'), made.authority.cert)
  return made.bankA
}

/** Starts a server of its own to be asked about tokens, and gives where. */
const startIntrospection = async (atEnd: Stage['atEnd']): Promise<string> => {
  const server = await startSideServer('layers/introspection-server.ts')
  atEnd(server.stop)
  return `http://127.0.0.1:${server.port}/introspect`
}

/** Starts a Redis, and gives where, or the reason why there is none. */
const startOwnRedis = async (atEnd: Stage['atEnd']): Promise<string | { readonly missing: string }> => {
  const { path, missing } = await program('redis-server')
  if (missing !== null) return { missing }
  const { url, kill } = await startRedis(path)
  atEnd(kill)
  return url
}

/** Starts one that takes spans, and gives where. */
const startReceiver = async (atEnd: Stage['atEnd']): Promise<string> => {
  const server = await startSideServer(spanServer)
  atEnd(server.stop)
  return spansUrl(server)
}
