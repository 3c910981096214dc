import { isUtf8 } from 'node:buffer'

export type JsonFault = 'not-utf8' | 'not-json' | 'duplicate-member' | 'too-deep'

type JsonResult = { readonly value: unknown } | { readonly fault: JsonFault }

/** Validators of recursive schemas take stack for each level, and no message is deeper. */
export const maxJsonDepth = 100

/** Rejects names that stand twice in an object: the upstream could read the other of the two values (RFC 8259 §4). */
export const parseStrictJson = (bytes: Buffer): JsonResult => {
  if (!isUtf8(bytes)) return { fault: 'not-utf8' }
  const members = countMembers(bytes)
  if (members < 0) return { fault: 'too-deep' }
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return { fault: 'not-json' }
  }
  return countOwnMembers(value) === members ? { value } : { fault: 'duplicate-member' }
}

/** Counts colons outside of strings; −1: the text is too deep. */
const countMembers = (bytes: Buffer): number => {
  let members = 0
  let depth = 0
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const byte = bytes[i] as number
    if (byte === quote) {
      for (i++; i < length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++
    } else if (byte === colon) members++
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxJsonDepth) return -1
    } else if (byte === closeBrace || byte === closeBracket) depth--
  }
  return members
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Of two members with the same name, parsing has kept one. */
const countOwnMembers = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') members += countOwnMembers(item)
    return members
  }
  // for…in takes a third of the time of Object.keys. JSON.parse makes no inherited enumerable members.
  for (const name in value) {
    members++
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (typeof member === 'object') members += countOwnMembers(member)
  }
  return members
}
