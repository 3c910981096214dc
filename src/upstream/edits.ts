import type { FieldEdits } from '../config/config.ts'
import type { Fields } from '../fields.ts'

/** Changes a list of fields as configured. */
export type Edit = (fields: Fields) => Fields

/**
 * Compiles configured edits: `remove` first, then `set` replaces whatever has the name. Null when there is nothing to do. Names are the
 * same that `fold` makes the same.
 */
export const edit = ({ set, remove }: FieldEdits, fold = toLowerCase): Edit | null => {
  if (set.length === 0 && remove.length === 0) return null
  const gone = new Set([...remove, ...set.map(({ name }) => name)].map(fold))
  const added = set.flatMap(({ name, value }) => [name, value])
  return (fields) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (!gone.has(fold(name))) kept.push(name, fields[i + 1] as string)
    }
    kept.push(...added)
    return kept
  }
}

const toLowerCase = (name: string): string => name.toLowerCase()
