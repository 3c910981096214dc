import type { HeaderMutationConfig } from '../../config/config.ts'
import type { HeaderFields } from '../../exchange/header-fields.ts'

export type HeaderMutation = (fields: HeaderFields) => HeaderFields

/**
 * Compiles a configured mutation: `remove` first, then `set` replaces every field of the name. Null when there is
 * nothing to do. Two names are the same if `fold` makes them the same.
 */
export const compileHeaderMutation = (
  { set, remove }: HeaderMutationConfig,
  fold = toLowerCase,
): HeaderMutation | null => {
  if (set.length === 0 && remove.length === 0) return null
  const removed = new Set([...remove, ...set.map(({ name }) => name)].map(fold))
  const added = set.flatMap(({ name, value }) => [name, value])
  return (fields) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (!removed.has(fold(name))) kept.push(name, fields[i + 1] as string)
    }
    kept.push(...added)
    return kept
  }
}

const toLowerCase = (name: string): string => name.toLowerCase()
