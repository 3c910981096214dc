import type { Reported } from '../config/changes.ts'
import type { AuthConfig, Config, JwtConfig } from '../config/config.ts'
import type { ConfigReport } from '../config/diff.ts'
import { hashOf, hashOfSettings } from '../config/hash.ts'

/**
 * Makes an earlier configuration that lets in whom the current one lets in. A token, a key or a certificate that was replaced, and a client that
 * was revoked or has another key, had a reason to go; the new one is what every tool now sends.
 */
export const withAccessOf = (current: Reported, earlier: Reported): Reported => {
  const config = configWithAccess(current.config, earlier.config)
  if (config === earlier.config) return earlier
  const kept = ['admin', 'clients', 'listen.tls', ...trustIn(current.config, earlier.config)]
  return { config, report: { ...withParts(current.report, earlier.report, kept), hash: config.hash } }
}

const configWithAccess = (current: Config, earlier: Config): Config => {
  const { admin, clients, clientsSource } = current
  const listen = { ...earlier.listen, tls: current.listen.tls }
  const auth = earlier.auth && current.auth && withTrustOf(current.auth, earlier.auth)
  const same = hashOf([admin, listen, auth]) === hashOf([earlier.admin, earlier.listen, earlier.auth])
  if (same && clientsSource.digest === earlier.clientsSource.digest) return earlier
  const { hash: _, ...settings } = { ...earlier, admin, listen, auth: auth ?? earlier.auth, clients, clientsSource }
  return Object.freeze({ hash: hashOfSettings(settings), ...settings })
}

/**
 * Keeps what is believed: the keys that stand in a file, with what they sign, of the same issuer; and all that is said of certificates, because the
 * clients that are kept were checked with it. The keys at a URL are those of today in any case, and it may be the mistake that is undone.
 */
const withTrustOf = ({ jwt, mtls }: AuthConfig, earlier: AuthConfig): AuthConfig => ({
  ...earlier,
  jwt: earlier.jwt && jwt && haveOtherKeys(jwt, earlier.jwt) ? { ...earlier.jwt, ...signingOf(jwt) } : earlier.jwt,
  mtls,
})

const haveOtherKeys = (current: JwtConfig, earlier: JwtConfig): boolean =>
  current.issuer === earlier.issuer &&
  'text' in current.jwks &&
  'text' in earlier.jwks &&
  current.jwks.text !== earlier.jwks.text

const signingOf = ({ jwks, algorithms }: JwtConfig): Pick<JwtConfig, 'jwks' | 'algorithms'> => ({ jwks, algorithms })

/** Lists the key paths of what {@link withTrustOf} keeps. */
const trustIn = ({ auth }: Config, { auth: earlier }: Config): readonly string[] => {
  if (auth === null || earlier === null) return []
  const areOther = auth.jwt !== null && earlier.jwt !== null && haveOtherKeys(auth.jwt, earlier.jwt)
  return ['auth.mtls', ...(areOther ? ['auth.jwt.jwks', 'auth.jwt.algorithms'] : [])]
}

/** Makes an earlier report that says of some key paths what the current one says. */
const withParts = (current: ConfigReport, earlier: ConfigReport, paths: readonly string[]): ConfigReport => {
  const isKept = (path: string): boolean =>
    paths.some((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`))
  const names = [...new Set([...Object.keys(earlier.digests), ...Object.keys(current.digests)])]
  const digests = names.flatMap((path) => {
    const digest = (isKept(path) ? current : earlier).digests[path]
    return digest === undefined ? [] : [[path, digest] as const]
  })
  const config = paths.reduce((tree, path) => withPart(tree, current.config, path.split('.')), earlier.config)
  return { ...earlier, config, digests: Object.fromEntries(digests) }
}

type Tree = ConfigReport['config']

const withPart = (tree: Tree, of: Tree, [key = '', ...rest]: readonly string[]): Tree => {
  const { [key]: part, ...others } = tree
  const value = of[key]
  if (rest.length > 0) return isTree(part) && isTree(value) ? { ...tree, [key]: withPart(part, value, rest) } : tree
  return value === undefined ? others : { ...tree, [key]: value }
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null
