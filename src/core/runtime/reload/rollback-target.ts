import type { AuthConfig, Config, JwtConfig } from '../../config/config.ts'
import { hashConfig, hashValue } from '../../config/config-hash.ts'
import type { ReportedConfig } from '../../config/diff/diff-configs.ts'
import type { ConfigReport } from '../../config/diff/diff-reports.ts'
import type { AppliedConfig } from './applied-config.ts'

/** The configuration that a rollback would return to: the last one that differs in more than credentials. */
export class RollbackTarget {
  #earlier: AppliedConfig | null = null

  get isFirst(): boolean {
    return this.#earlier === null
  }

  record(earlier: AppliedConfig, running: AppliedConfig): void {
    // Undone, an edit of credentials alone changes nothing: it leaves the way back to what ran before it.
    if (this.#earlier === null || !differsOnlyInCredentials(earlier, running)) this.#earlier = earlier
  }

  /** Returns it with the credentials of `running`; null: there is none. */
  resolve(running: AppliedConfig): AppliedConfig | null {
    if (this.#earlier === null || differsOnlyInCredentials(this.#earlier, running)) return null
    const { warnings, sources, provenance } = this.#earlier
    return { ...withCurrentCredentials(running, this.#earlier), warnings, sources, provenance }
  }
}

const differsOnlyInCredentials = (earlier: AppliedConfig, running: AppliedConfig): boolean =>
  withCurrentCredentials(running, earlier).config.hash === running.config.hash

/**
 * Returns an earlier configuration that lets in whom the current one lets in. A token, a key or a certificate that was
 * replaced, and a client that was revoked or has another key, had a reason to go; the new one is what every tool now
 * sends.
 */
export const withCurrentCredentials = (current: ReportedConfig, earlier: ReportedConfig): ReportedConfig => {
  const config = keepCredentials(current.config, earlier.config)
  if (config === earlier.config) return earlier
  const clientPaths = bringsClientsBack(current.config, earlier.config) ? [] : ['clients']
  const kept = ['admin', ...clientPaths, 'listen.tls', ...trustKeyPaths(current.config, earlier.config)]
  return { config, report: { ...replaceParts(current.report, earlier.report, kept), hash: config.hash } }
}

const keepCredentials = (current: Config, earlier: Config): Config => {
  const { admin } = current
  const { clients, clientsSource } = bringsClientsBack(current, earlier) ? earlier : current
  const listen = { ...earlier.listen, tls: current.listen.tls }
  const auth = earlier.auth && current.auth ? keepTrust(current.auth, earlier.auth) : earlier.auth
  const same = hashValue([admin, listen, auth]) === hashValue([earlier.admin, earlier.listen, earlier.auth])
  if (same && clientsSource.digest === earlier.clientsSource.digest) return earlier
  const { hash: _, ...settings } = { ...earlier, admin, listen, auth, clients, clientsSource }
  return Object.freeze({ hash: hashConfig(settings), ...settings })
}

/**
 * Tells whether the clients come back with authentication. A file without it lists none, which revokes none: that list
 * would lock all of them out. It names no file of clients either, so a client that was removed from one since is back.
 */
const bringsClientsBack = (current: Config, earlier: Config): boolean => current.auth === null && earlier.auth !== null

/**
 * Keeps the trust of today: the keys that stand in a file, with their algorithms, of the same issuer; and all settings
 * of certificates, because the clients that are kept were checked with them. The keys at a URL are those of today in
 * any case, and the URL may be the mistake that is undone.
 */
const keepTrust = ({ jwt, mtls }: AuthConfig, earlier: AuthConfig): AuthConfig => ({
  ...earlier,
  jwt: earlier.jwt && jwt && hasDifferentKeys(jwt, earlier.jwt) ? { ...earlier.jwt, ...pickSigning(jwt) } : earlier.jwt,
  mtls,
})

const hasDifferentKeys = (current: JwtConfig, earlier: JwtConfig): boolean =>
  current.issuer === earlier.issuer &&
  'text' in current.jwks &&
  'text' in earlier.jwks &&
  current.jwks.text !== earlier.jwks.text

const pickSigning = ({ jwks, algorithms }: JwtConfig): Pick<JwtConfig, 'jwks' | 'algorithms'> => ({ jwks, algorithms })

/** Lists the key paths of what {@link keepTrust} keeps. */
const trustKeyPaths = ({ auth }: Config, { auth: earlier }: Config): readonly string[] => {
  if (auth === null || earlier === null) return []
  const keysDiffer = auth.jwt !== null && earlier.jwt !== null && hasDifferentKeys(auth.jwt, earlier.jwt)
  return ['auth.mtls', ...(keysDiffer ? ['auth.jwt.jwks', 'auth.jwt.algorithms'] : [])]
}

const replaceParts = (current: ConfigReport, earlier: ConfigReport, paths: readonly string[]): ConfigReport => {
  const isKept = (path: string): boolean =>
    paths.some((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`))
  const names = [...new Set([...Object.keys(earlier.digests), ...Object.keys(current.digests)])]
  const digests = names.flatMap((path) => {
    const digest = (isKept(path) ? current : earlier).digests[path]
    return digest === undefined ? [] : [[path, digest] as const]
  })
  const config = paths.reduce((tree, path) => replacePart(tree, current.config, path.split('.')), earlier.config)
  return { ...earlier, config, digests: Object.fromEntries(digests) }
}

type ReportTree = ConfigReport['config']

const replacePart = (tree: ReportTree, source: ReportTree, [key = '', ...rest]: readonly string[]): ReportTree => {
  const { [key]: part, ...others } = tree
  const value = source[key]
  if (rest.length > 0) return isTree(part) && isTree(value) ? { ...tree, [key]: replacePart(part, value, rest) } : tree
  return value === undefined ? others : { ...tree, [key]: value }
}

const isTree = (value: unknown): value is ReportTree => typeof value === 'object' && value !== null
