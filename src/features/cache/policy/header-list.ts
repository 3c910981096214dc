import { fieldNameEquals, getFieldValues, type HeaderFields, joinValues } from '../../../core/exchange/header-fields.ts'

/**
 * Joins the lines of a field with a comma, as RFC 9110 §5.3 allows; null: there is none. `lower` is the name in lower
 * case.
 */
export const joinFieldLines = (fields: HeaderFields, lower: string): string | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, lower)) value = joinValues(value, fields[i + 1] as string)
  }
  return value
}

export const fieldLines = (fields: HeaderFields, lower: string): string[] =>
  getFieldValues(fields, lower).map((value) => value.trim())

/**
 * Splits a list at its commas, except in quoted strings. A quoted string that never ends is split at its commas all the
 * same. `members` are without surrounding whitespace, and without the empty ones (RFC 9110 §5.6.1.2). `soundUntil` is
 * the index at which a quoted string begins that never ends, since the meaning is unknown from there on; otherwise the
 * number of members.
 */
export const parseListMembers = (list: string) => {
  const members: string[] = []
  const take = (text: string): void => {
    const member = text.trim()
    if (member !== '') members.push(member)
  }
  let start = 0
  let quoted = false
  for (let i = 0; i < list.length; i++) {
    const char = list[i]
    if (char === '"') quoted = !quoted
    else if (quoted && char === '\\') i++
    else if (char === ',' && !quoted) {
      take(list.slice(start, i))
      start = i + 1
    }
  }
  const rest = list.slice(start)
  if (!quoted) {
    take(rest)
    return { members, soundUntil: members.length }
  }
  const soundUntil = members.length
  for (const member of rest.split(',')) take(member)
  return { members, soundUntil }
}
