import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Group, groups, type Side } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { ConfigProblem, locateKey } from '../../config/problem.ts'
import { errorMessage } from '../../exchange/failures/error-message.ts'
import { describeSide, listSides, sideKey } from '../../exchange/sides.ts'
import { epochMs } from '../../lib/clock.ts'
import { receivesTraffic } from '../../runtime/reload/new-endpoints.ts'
import { tryJwks } from '../../runtime/reload/reload-preflight.ts'
import {
  type EndpointCertificate,
  firstToExpire,
  getEndpointCertificates,
} from '../../upstream/endpoints/endpoint-certificates.ts'
import { maxCheckMs } from '../../upstream/health/check-reachable.ts'
import { checkAll, toPreflightTarget } from '../../upstream/health/preflight.ts'

/** The result for one endpoint, as the JSON output has it. */
export interface CheckedEndpoint {
  readonly group: Group
  readonly side: Side
  readonly url: string
  readonly reached: boolean
  readonly reason: string | null
  /** The certificate that it showed; null: none, or one that is rejected. */
  readonly certificate: {
    readonly notAfter: string
    readonly isOver: boolean
    readonly endsSoon: boolean
  } | null
}

/**
 * Checks every endpoint of every group, candidates included, as `reload.preflight` does (`none`: as `connect`). All at
 * once, for at most 2 s. The sandbox is left out.
 */
export const checkEndpoints = async ({ upstreams, reload }: Config): Promise<readonly CheckedEndpoint[]> => {
  const mode = reload.preflight === 'health' ? 'health' : 'connect'
  const remoteEndpoints = groups.flatMap((group) =>
    listSides(upstreams[group]).flatMap(({ side, upstream }) =>
      upstream.endpoints.flatMap((endpoint) =>
        endpoint.origin === 'sandbox' ? [] : [{ group, side, endpoint, upstream }],
      ),
    ),
  )
  const results = await checkAll(remoteEndpoints.map((each) => toPreflightTarget(each, mode)))
  return results.map(({ group, side, name, reason }, i) => {
    const checked = remoteEndpoints[i]
    const first =
      checked &&
      firstToExpire(getEndpointCertificates(checked.upstream.tls, new URL(checked.endpoint.origin).host).list)
    const certificate = first == null ? null : toCertificate(first)
    return { group, side, url: name, reached: reason === null, reason, certificate }
  })
}

const toCertificate = ({ notAfter, warnFrom }: EndpointCertificate): CheckedEndpoint['certificate'] => ({
  notAfter: new Date(notAfter).toISOString(),
  isOver: notAfter < epochMs(),
  endsSoon: epochMs() >= warnFrom,
})

export interface OnlineIssues {
  /** One for each upstream of which no endpoint that gets traffic can be reached. */
  readonly problems: readonly ConfigProblem[]
  /** One for each other endpoint that was not reached, and for each certificate that expires. */
  readonly warnings: readonly ConfigProblem[]
}

export type KeyLocator = (key: string) => ReturnType<typeof locateKey>

/**
 * Collects the issues of checked endpoints. An upstream is reachable by those that get its traffic, and always by the
 * sandbox.
 */
export const collectOnlineIssues = (
  endpoints: readonly CheckedEndpoint[],
  { upstreams }: Pick<Config, 'upstreams'>,
  locate: KeyLocator,
): OnlineIssues => {
  const problems: ConfigProblem[] = []
  const warnings: ConfigProblem[] = []
  const sides = groups.flatMap((group) => listSides(upstreams[group]).map((each) => ({ group, ...each })))
  for (const { group, side, upstream } of sides) {
    const own = endpoints.filter((each) => each.group === group && each.side === side)
    const unreachable = own.filter(({ reached }) => !reached)
    const gone = new Set(unreachable.map(({ url }) => url))
    const at = locate(`${sideKey(group, side)}.endpoints`)
    if (upstream.endpoints.filter(receivesTraffic).every(({ origin, pathPrefix }) => gone.has(origin + pathPrefix))) {
      problems.push({
        ...at,
        message: `no endpoint of ${describeSide(group, side)} can be reached`,
        expected: 'at least one of them to be there',
        found: unreachable.map(({ url, reason }) => `${url}: ${reason}`).join('; '),
      })
      continue
    }
    for (const { url, reason } of unreachable) {
      const message = `${url} cannot be reached: ${reason}`
      warnings.push({ ...at, message, expected: 'every endpoint to be there', found: `${reason}` })
    }
    for (const { url, certificate } of own) {
      if (certificate === null || !certificate.endsSoon) continue
      const { notAfter, isOver } = certificate
      const message = `the certificate of ${url} ${isOver ? 'has expired, at' : 'expires at'} ${notAfter}`
      warnings.push({ ...at, message, expected: 'one that is good for longer', found: `one until ${notAfter}` })
    }
  }
  return { problems, warnings }
}

// As long as an endpoint has.
const onlineTry = { waitMs: maxCheckMs, repeatsSilent: true }

/** Fetches the keys of each issuer as the gateway does. A warning names one whose keys cannot be had within 2 s. */
export const checkIssuers = async ({ auth, admin }: Config, locate: KeyLocator): Promise<readonly ConfigProblem[]> => {
  const issuers = [['auth.jwt', auth?.jwt ?? null] as const, ['admin.jwt', admin.jwt] as const]
  const checked = issuers.map(async ([key, jwt]): Promise<readonly ConfigProblem[]> => {
    if (jwt === null) return []
    const { reason } = (await tryJwks(key, jwt, onlineTry)) ?? { reason: null }
    if (reason === null) return []
    const message = `the keys of ${key} cannot be had from here: ${reason}`
    const expected = 'a JWK Set with a key that tokens may be signed with'
    return [{ ...locate(`${key}.jwks`), message, expected, found: reason }]
  })
  return (await Promise.all(checked)).flat()
}

/**
 * Checks whether this user could open `audit.file`, without creating or opening it. Whether its last line was sealed
 * with the key is not checked: the gateway may be writing it.
 */
export const checkAuditFile = async ({ audit }: Config, locate: KeyLocator): Promise<readonly ConfigProblem[]> => {
  if (audit === null || audit.file === 'stdout') return []
  const reason = await findReason(audit.file)
  if (reason === null) return []
  return [
    {
      ...locate('audit.file'),
      message: `${audit.file} cannot be opened by the user of this command: ${reason}`,
      expected: 'a file that can be written, or a folder in which it can be made',
      found: reason,
    },
  ]
}

/** Finds why a file cannot be appended to. Null: it can, or it can be made. */
const findReason = async (path: string): Promise<string | null> => {
  try {
    if (!(await stat(path)).isFile()) return 'not a regular file'
    await access(path, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    return isMissing(error) ? findFolderReason(dirname(path)) : errorMessage(error)
  }
}

const findFolderReason = async (folder: string): Promise<string | null> => {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'
