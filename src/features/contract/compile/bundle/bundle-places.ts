import { escapeSegment } from '../../../../core/lib/text/json-pointer.ts'
import type { ContractNode, NodePlace, Tree } from '../contract-node.ts'
import type { ObjectShape } from './object-shapes.ts'

export type TreeCopy = Record<string, unknown>

interface BundlePlace {
  /** A JSON pointer. */
  readonly pointer: string
  readonly shape: ObjectShape
}

/** Where the objects of a contract's files stand in its one document. */
export class BundlePlaces {
  readonly #places = new Map<string, BundlePlace>()

  find(node: ContractNode): BundlePlace | undefined {
    return this.#places.get(nodeKey(node))
  }

  /** Remembers a place. An object that has one already keeps it. */
  add(node: ContractNode, place: BundlePlace): void {
    const key = nodeKey(node)
    if (!this.#places.has(key)) this.#places.set(key, place)
  }
}

export const nodeKey = ({ file, path }: NodePlace): string =>
  `${file.file}#${path.map((key) => escapeSegment(String(key))).join('/')}`

/** Returns a section of `components`, which it makes where there is none. */
export const componentSection = (document: TreeCopy, name: string): TreeCopy => {
  document.components ??= {}
  const components = document.components as TreeCopy
  components[name] ??= {}
  return components[name] as TreeCopy
}

/** Chooses a name under `components` for an object of another file, or a copy: its own, or that of the file. */
export const chooseComponentName = ({ file, path }: ContractNode, section: Tree, suffix = ''): string => {
  const [last] = path.slice(-1)
  const wanted = String(last ?? file.file.slice(file.file.lastIndexOf('/') + 1)).replace(/\.(?:ya?ml|json)$/i, '')
  const plain = (wanted.replaceAll(/[^\w.-]/g, '_') || 'object') + suffix
  let name = plain
  for (let nth = 2; Object.hasOwn(section, name); nth++) name = `${plain}-${nth}`
  return name
}
