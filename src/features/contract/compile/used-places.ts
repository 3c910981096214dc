import { nodeKey } from './bundle/bundle-places.ts'
import type { NodePlace } from './contract-node.ts'

/** A reference of a contract: where it stands, and where it leads. */
export type ReferenceLink = readonly [from: NodePlace, target: NodePlace]

/**
 * Creates what tells whether the nine lead to a place in a file: by what stands under `paths`, and references. It goes
 * by the files and not by the bundle, which leaves out what is broken.
 */
export const findUsedPlaces = (paths: NodePlace, links: readonly ReferenceLink[]): ((node: NodePlace) => boolean) => {
  const below = new Map<string, NodePlace[]>()
  for (const [from, target] of links)
    for (const key of placesAround(from)) {
      const targets = below.get(key)
      if (targets === undefined) below.set(key, [target])
      else targets.push(target)
    }
  const used = new Set<string>()
  const open = [paths]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const key = nodeKey(place)
    if (used.has(key)) continue
    used.add(key)
    for (const target of below.get(key) ?? []) open.push(target)
  }
  return (node) => placesAround(node).some((key) => used.has(key))
}

/** Lists the keys of a place and of all that it stands in. */
const placesAround = ({ file, path }: NodePlace): readonly string[] =>
  Array.from({ length: path.length + 1 }, (_, length) => nodeKey({ file, path: path.slice(0, length) }))
