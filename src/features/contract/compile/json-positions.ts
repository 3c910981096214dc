import type { KeyPath } from '../../../core/config/problem.ts'

/** Finds the offset of a value in a valid text of JSON, or of its key. A missing one has that of what is above it. */
export const findInJson = (text: string, path: KeyPath, atKey = false): number => {
  let at = skipSpace(text, 0)
  let found = at
  for (const key of path) {
    const entry = findEntry(text, at, key)
    if (entry === null) break
    found = atKey || isOpening(text, entry.value) ? entry.key : entry.value
    at = entry.value
  }
  return found
}

const isOpening = (text: string, at: number): boolean => text[at] === '{' || text[at] === '['

/** Finds an entry of the map or list at an offset: where its key begins, and its value. Null: there is none. */
const findEntry = (
  text: string,
  start: number,
  wanted: string | number,
): { readonly key: number; readonly value: number } | null => {
  if (!isOpening(text, start)) return null
  const isMap = text[start] === '{'
  let at = skipSpace(text, start + 1)
  for (let index = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; index++) {
    const key = at
    let name: unknown = index
    if (isMap) {
      at = skipString(text, at)
      name = JSON.parse(text.slice(key, at))
      at = skipSpace(text, skipSpace(text, at) + 1)
    }
    if (name === wanted) return { key, value: at }
    at = skipSpace(text, skipValue(text, at))
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return null
}

const skipSpace = (text: string, start: number): number => {
  let at = start
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return at
}

const skipString = (text: string, start: number): number => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

const skipValue = (text: string, start: number): number => {
  let at = start
  for (let depth = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = skipString(text, at) - 1
    else if (character === '{' || character === '[') depth++
    else if (depth === 0 && (character === ',' || character === '}' || character === ']')) return at
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1
  }
  return at
}
