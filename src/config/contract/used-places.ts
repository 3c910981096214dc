import { asPlainObject } from '../../plain-object.ts'
import { nodeKey } from './bundle/bundle-places.ts'
import type { ContractBundle } from './contract-bundle.ts'
import type { NodePlace } from './contract-node.ts'

/** Creates what tells whether the nine lead to a place in a file: by what stands under their paths, and references. */
export const findUsedPlaces = ({
  document,
  origins,
  targets,
  follow,
}: ContractBundle): ((node: NodePlace) => boolean) => {
  const used = new Set<string>()
  const seen = new Set<object>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const node of [origins.get(value), targets.get(value)]) if (node !== undefined) used.add(nodeKey(node))
    const { $ref } = asPlainObject(value)
    if (typeof $ref === 'string') visit(follow($ref))
    for (const each of Object.values(value)) visit(each)
  }
  visit(document.paths)
  return ({ file, path }) => path.some((_, at) => used.has(nodeKey({ file, path: path.slice(0, at + 1) })))
}
