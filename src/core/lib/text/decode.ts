import { isPlainObject } from '../plain-object.ts'
import { escapeControls } from './escape-controls.ts'

/**
 * Decodes one value of an admin response, which may be anything; `path` says where it stands. Throws {@link
 * DecodeError}.
 */
export type Decoder<T> = (value: unknown, path: string) => T

/** The type that a decoder decodes: a response is described once, by its decoder. */
export type Decoded<D> = D extends Decoder<infer T> ? T : never

export class DecodeError extends Error {
  constructor(path: string, expected: string) {
    super(`${expected} is expected${path === '' ? '' : ` at ${path}`}`)
  }
}

/** Decodes text, harmless to a terminal. */
export const asText: Decoder<string> = (value, path) => {
  if (typeof value === 'string') return escapeControls(value)
  throw new DecodeError(path, 'text')
}

/** Decodes one of some words. Another word is accepted as well: only the wording depends on it. */
export const asWord = <Word extends string>(): Decoder<Word> => asText as Decoder<Word>

export const asNumber: Decoder<number> = (value, path) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new DecodeError(path, 'a number')
}

/** Creates a decoder of a number for each member of an object, to stand among those of an {@link asObject}. */
export const asNumbers = <T extends object>(like: T): { readonly [K in keyof T]: Decoder<number> } =>
  Object.fromEntries(Object.keys(like).map((name) => [name, asNumber])) as { [K in keyof T]: Decoder<number> }

export const asBoolean: Decoder<boolean> = (value, path) => {
  if (typeof value === 'boolean') return value
  throw new DecodeError(path, 'true or false')
}

export const asUnknown: Decoder<unknown> = (value) => value

/** Decodes what may be null; missing is the same. */
export const asNullable =
  <T>(decode: Decoder<T>): Decoder<T | null> =>
  (value, path) =>
    value === null || value === undefined ? null : decode(value, path)

export const asList =
  <T>(decode: Decoder<T>): Decoder<readonly T[]> =>
  (value, path) => {
    if (Array.isArray(value)) return value.map((entry, i) => decode(entry, `${path}[${i}]`))
    throw new DecodeError(path, 'a list')
  }

/** Decodes a map of any keys. */
export const asMap =
  <T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isPlainObject(value)) throw new DecodeError(path, 'a map')
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [
        escapeControls(key),
        decode(entry, childPath(path, escapeControls(key))),
      ]),
    )
  }

/** Decodes a map of known keys; others are left out. */
export const asObject =
  <Members extends Readonly<Record<string, Decoder<unknown>>>>(
    members: Members,
  ): Decoder<{ readonly [K in keyof Members]: Decoded<Members[K]> }> =>
  (value, path) => {
    if (!isPlainObject(value)) throw new DecodeError(path, 'a map')
    const entries = new Map(Object.entries(value))
    const decoded = Object.entries(members).map(([key, decode]) => [
      key,
      decode(entries.get(key), childPath(path, key)),
    ])
    return Object.fromEntries(decoded) as { [K in keyof Members]: Decoded<Members[K]> }
  }

export const getMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const childPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
