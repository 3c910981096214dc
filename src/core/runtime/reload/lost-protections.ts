import { groups } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { insertBeside } from '../../lib/beside.ts'
import type { Protection } from '../primary-part.ts'
import { primaryFeatures } from '../primary-parts.ts'

const verifiedUpstreams: readonly Protection[] = groups.map((group) => ({
  path: `upstreams.${group}.tls.verify`,
  isOn: ({ upstreams }) => upstreams[group].tls.verify,
}))

// All that a rollback switches off by force alone, who is let in first. `listen.tls` is not here: a rollback keeps it.
const protections: readonly Protection[] = insertBeside(
  { 'tls.verify': verifiedUpstreams },
  [...primaryFeatures.values()].reverse().flatMap((feature) => feature.protections ?? []),
).flat()

/**
 * Lists the protections that the current configuration has and the next one lacks, by their keys. A general key stands
 * for all operations where the next one has it for none.
 */
export const findLostProtections = (current: Config, next: Config): readonly string[] => {
  const lost = protections.filter(({ isOn }) => isOn(current) && !isOn(next))
  return [...new Set(lost.map(({ path, general }) => (general?.isOn(next) === false ? general.path : path)))]
}
