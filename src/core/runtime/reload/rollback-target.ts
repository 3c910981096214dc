import { groups } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { ReportedConfig } from '../../config/diff/diff-reports.ts'
import type { ConfigReport } from '../../config/diff/diff-values.ts'
import { hashConfig, hashValue } from '../../config/transfer-parts.ts'
import { insertBeside } from '../../lib/beside.ts'
import type { Protection } from '../primary-part.ts'
import { primaryFeatures } from '../primary-parts.ts'
import type { AppliedConfig } from './last-reading.ts'

/** The last configuration that differs from the running one in more than credentials. */
export class RollbackTarget {
  #earlier: AppliedConfig | null = null

  get isFirst(): boolean {
    return this.#earlier === null
  }

  record(earlier: AppliedConfig, running: AppliedConfig): void {
    // Undoing an edit of credentials alone would change nothing, so such an edit keeps the earlier target.
    if (this.#earlier === null || !differsOnlyInCredentials(earlier, running)) this.#earlier = earlier
  }

  resolve(running: AppliedConfig): AppliedConfig | null {
    if (this.#earlier === null || differsOnlyInCredentials(this.#earlier, running)) return null
    const { warnings, sources, provenance } = this.#earlier
    return { ...withCurrentCredentials(running, this.#earlier), warnings, sources, provenance }
  }
}

const differsOnlyInCredentials = (earlier: AppliedConfig, running: AppliedConfig): boolean =>
  withCurrentCredentials(running, earlier).config.hash === running.config.hash

/** A token or certificate was replaced for a reason, and every tool now sends the new one. */
export const withCurrentCredentials = (current: ReportedConfig, earlier: ReportedConfig): ReportedConfig => {
  const { admin, listen } = current.config
  const own = { admin, listen: { ...earlier.config.listen, tls: listen.tls } }
  const kept = [...primaryFeatures.values()].flatMap(
    (feature) => feature.keepCredentials?.(current.config, earlier.config) ?? [],
  )
  const isSame = hashValue(own) === hashValue({ admin: earlier.config.admin, listen: earlier.config.listen })
  if (isSame && kept.every((each) => each.isSame)) return earlier
  const { hash: _, ...settings } = Object.assign({ ...earlier.config }, own, ...kept.map((each) => each.settings))
  const config: Config = Object.freeze({ hash: hashConfig(settings), ...settings })
  const paths = ['admin', 'listen.tls', ...kept.flatMap((each) => each.paths)]
  return { config, report: { ...replaceParts(current.report, earlier.report, paths), hash: config.hash } }
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

const verifiedUpstreams: readonly Protection[] = groups.map((group) => ({
  path: `upstreams.${group}.tls.verify`,
  isOn: ({ upstreams }) => upstreams[group].tls.verify,
}))

// A rollback turns them off only with `force`. Those that admit clients come first. `listen.tls` is missing, because a
// rollback keeps it.
const protections: readonly Protection[] = insertBeside(
  { 'tls.verify': verifiedUpstreams },
  [...primaryFeatures.values()].reverse().flatMap((feature) => feature.protections ?? []),
).flat()

export const findLostProtections = (current: Config, next: Config): readonly string[] => {
  const lost = protections.filter(({ isOn }) => isOn(current) && !isOn(next))
  return [...new Set(lost.map(({ path, general }) => (general?.isOn(next) === false ? general.path : path)))]
}
