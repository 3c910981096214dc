import { epochMs } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { type Group, groups } from '../../operations.ts'
import {
  type EndpointCertificate,
  firstToExpire,
  getEndpointCertificates,
} from '../../upstream/endpoints/endpoint-certificates.ts'
import { checkAll, toPreflightTarget } from '../../upstream/health/preflight.ts'

/** Is what came of trying one endpoint, as JSON says it. */
export interface CheckedEndpoint {
  readonly group: Group
  readonly url: string
  readonly reached: boolean
  /** Null: it was reached. */
  readonly reason: string | null
  /** The one that it showed; null: it showed none, or one that is refused. */
  readonly certificate: {
    readonly notAfter: string
    readonly isOver: boolean
    readonly endsSoon: boolean
  } | null
}

/** Tries every endpoint of every group as `reload.preflight` does (`none`: as `connect`), all at once, for at most 2 s. The sandbox is left out. */
export const checkEndpoints = async ({ upstreams, reload }: Config): Promise<readonly CheckedEndpoint[]> => {
  const mode = reload.preflight === 'health' ? 'health' : 'connect'
  const remoteEndpoints = groups.flatMap((group) => {
    const upstream = upstreams[group]
    return upstream.endpoints.flatMap((endpoint) =>
      endpoint.origin === 'sandbox' ? [] : [{ group, endpoint, upstream }],
    )
  })
  const results = await checkAll(remoteEndpoints.map((each) => toPreflightTarget(each, mode)))
  return results.map(({ group, name, reason }, i) => {
    const checked = remoteEndpoints[i]
    const seen =
      checked &&
      firstToExpire(getEndpointCertificates(checked.upstream.tls, new URL(checked.endpoint.origin).host).list)
    const certificate = seen == null ? null : toCertificate(seen)
    return { group, url: name, reached: reason === null, reason, certificate }
  })
}

const toCertificate = ({ notAfter, warnFrom }: EndpointCertificate): CheckedEndpoint['certificate'] => ({
  notAfter: new Date(notAfter).toISOString(),
  isOver: notAfter < epochMs(),
  endsSoon: epochMs() >= warnFrom,
})

/** Holds what is to be said of endpoints that were not reached. */
export interface OnlineIssues {
  /** One for each group of which none was. */
  readonly problems: readonly ConfigProblem[]
  /** One for each of the others. */
  readonly warnings: readonly ConfigProblem[]
}

/** Judges what was tried; `origins` and `file` are those of the configuration. */
export const collectOnlineIssues = (
  endpoints: readonly CheckedEndpoint[],
  provenance: ProvenanceMap,
  file: string,
): OnlineIssues => {
  const problems: ConfigProblem[] = []
  const warnings: ConfigProblem[] = []
  for (const group of groups) {
    const own = endpoints.filter((each) => each.group === group)
    const unreachable = own.filter(({ reached }) => !reached)
    const path = `upstreams.${group}.endpoints`
    const { line = 1, column = 1 } = provenance.get(path) ?? {}
    const at = { file, line, column, path }
    if (unreachable.length > 0 && unreachable.length === own.length) {
      problems.push({
        ...at,
        message: `no endpoint of ${group} can be reached`,
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
