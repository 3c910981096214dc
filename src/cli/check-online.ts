import { type Group, groups } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { certificatesOf, firstToEnd, type SeenCertificate } from '../upstream/certificates.ts'
import { triedIn, tryAll } from '../upstream/preflight.ts'

/** Is what came of trying one endpoint, as JSON says it. */
export interface TriedEndpoint {
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
export const tryEndpoints = async ({ upstreams, reload }: Config): Promise<readonly TriedEndpoint[]> => {
  const mode = reload.preflight === 'health' ? 'health' : 'connect'
  const real = groups.flatMap((group) => {
    const upstream = upstreams[group]
    return upstream.endpoints.flatMap((endpoint) =>
      endpoint.origin === 'sandbox' ? [] : [{ group, endpoint, upstream }],
    )
  })
  const found = await tryAll(real.map((each) => triedIn(each, mode)))
  return found.map(({ group, name, reason }, i) => {
    const given = real[i]
    const seen = given && firstToEnd(certificatesOf(given.upstream.tls, new URL(given.endpoint.origin).host).seen)
    const certificate = seen == null ? null : certificateOf(seen)
    return { group, url: name, reached: reason === null, reason, certificate }
  })
}

const certificateOf = ({ notAfter, soonFrom }: SeenCertificate): TriedEndpoint['certificate'] => ({
  notAfter: new Date(notAfter).toISOString(),
  isOver: notAfter < wallClock(),
  endsSoon: wallClock() >= soonFrom,
})

/** Holds what is to be said of endpoints that were not reached. */
export interface Judgement {
  /** One for each group of which none was. */
  readonly problems: readonly Problem[]
  /** One for each of the others. */
  readonly warnings: readonly Problem[]
}

/** Judges what was tried; `origins` and `file` are those of the configuration. */
export const judge = (tried: readonly TriedEndpoint[], origins: Origins, file: string): Judgement => {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const group of groups) {
    const own = tried.filter((each) => each.group === group)
    const lost = own.filter(({ reached }) => !reached)
    const path = `upstreams.${group}.endpoints`
    const { line = 1, column = 1 } = origins.get(path) ?? {}
    const at = { file, line, column, path }
    if (lost.length > 0 && lost.length === own.length) {
      problems.push({
        ...at,
        message: `no endpoint of ${group} can be reached`,
        expected: 'at least one of them to be there',
        found: lost.map(({ url, reason }) => `${url}: ${reason}`).join('; '),
      })
      continue
    }
    for (const { url, reason } of lost) {
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
