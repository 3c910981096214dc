import { catalog } from '../catalog.ts'
import type { Path } from './problem.ts'
import { listenTlsSchema } from './schema/listen.ts'
import { External } from './schema/scalar.ts'

const places: readonly Path[] = [
  ['auth', 'methods'],
  ...catalog.map(({ id }): Path => ['operations', id, 'auth', 'methods']),
]

/** Lists where the file says which methods are taken, with what it says there. */
export const methodLists = (tree: unknown): readonly { readonly path: Path; readonly names: readonly unknown[] }[] =>
  places.flatMap((path) => {
    const names = childAt(tree, path)
    return Array.isArray(names) ? [{ path, names }] : []
  })

/** Tells whether clients are asked for a certificate on the public listener; a broken value is told of by itself, and counts as if they were. */
export const asksForCertificates = (tree: unknown): boolean => {
  if (childAt(tree, ['listen', 'tls']) === undefined) return false
  const stated = childAt(tree, ['listen', 'tls', 'clientCertificates'])
  return listenTlsSchema.shape.clientCertificates.safeParse(stated).data !== 'none'
}

/** Finds a value in a tree that nobody has checked; undefined: it is not there. */
export function childAt(tree: unknown, path: Path): unknown {
  let value = tree
  for (const key of path) {
    if (typeof value !== 'object' || value === null || value instanceof External) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}
