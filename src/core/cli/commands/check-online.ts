import { groups } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { describeSide, listSides, sideKey } from '../../exchange/sides.ts'
import { epochMs } from '../../lib/clock.ts'
import { receivesTraffic } from '../../runtime/reload/new-endpoints.ts'
import { firstToExpire, getEndpointCertificates } from '../../upstream/endpoints/endpoint-certificates.ts'
import { checkAll, toPreflightTarget } from '../../upstream/health/preflight.ts'
import type { KeyLocator } from '../built-in-command.ts'

type CheckedEndpoint = Awaited<ReturnType<typeof checkEndpoints>>[number]

/**
 * Connects to every endpoint but the sandbox in parallel, for at most 2 s; for `reload.preflight: health`, probes it.
 */
export const checkEndpoints = async ({ upstreams, reload }: Config) => {
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
    const { upstream, endpoint } = remoteEndpoints[i] as (typeof remoteEndpoints)[number]
    const first = firstToExpire(getEndpointCertificates(upstream.tls, new URL(endpoint.origin).host).list)
    /** Null: the endpoint presented none, or it was rejected. */
    const certificate = first && {
      notAfter: new Date(first.notAfter).toISOString(),
      isOver: first.notAfter < epochMs(),
      endsSoon: epochMs() >= first.warnFrom,
    }
    return { group, side, url: name, reached: reason === null, reason, certificate }
  })
}

/** The sandbox counts as reachable. */
export const collectOnlineIssues = (
  endpoints: readonly CheckedEndpoint[],
  { upstreams }: Pick<Config, 'upstreams'>,
  locate: KeyLocator,
) => {
  /** One for each upstream whose endpoints with traffic are all unreachable. */
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
      warnings.push({
        ...at,
        message,
        expected: 'one that is good for longer',
        found: `a certificate valid until ${notAfter}`,
      })
    }
  }
  return { problems, warnings }
}
