import { isPlainObject } from '../plain-object.ts'
import { escapeControls } from './escape-controls.ts'

/** Decodes a value of an admin response; `path` is its place. Throws {@link DecodeError}. */
export type Decoder<T> = (value: unknown, path: string) => T

export type Decoded<D> = D extends Decoder<infer T> ? T : never

export class DecodeError extends Error {
  constructor(path: string, expected: string) {
    super(`${expected} is expected${path === '' ? '' : ` at ${path}`}`)
  }
}

/** Controls could act on a terminal. */
export const asText: Decoder<string> = (value, path) => {
  if (typeof value === 'string') return escapeControls(value)
  throw new DecodeError(path, 'text')
}

/** Accepts unknown words too: they only change the wording. */
export const asWord = <Word extends string>(): Decoder<Word> => asText as Decoder<Word>

export const asNumber: Decoder<number> = (value, path) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new DecodeError(path, 'a number')
}

export const asNumbers = <T extends object>(like: T): { readonly [K in keyof T]: Decoder<number> } =>
  Object.fromEntries(Object.keys(like).map((name) => [name, asNumber])) as { [K in keyof T]: Decoder<number> }

export const asBoolean: Decoder<boolean> = (value, path) => {
  if (typeof value === 'boolean') return value
  throw new DecodeError(path, 'true or false')
}

export const asUnknown: Decoder<unknown> = (value) => value

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

export const asMap =
  <T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isPlainObject(value)) throw new DecodeError(path, 'a map')
    const escaped = Object.entries(value).map(([key, entry]) => [escapeControls(key), entry] as const)
    return Object.fromEntries(escaped.map(([key, entry]) => [key, decode(entry, childPath(path, key))]))
  }

export const asObject =
  <Members extends Readonly<Record<string, Decoder<unknown>>>>(
    members: Members,
  ): Decoder<{ readonly [K in keyof Members]: Decoded<Members[K]> }> =>
  (value, path) => {
    if (!isPlainObject(value)) throw new DecodeError(path, 'a map')
    const entries = new Map(Object.entries(value))
    const decodeMember = (key: string, decode: Decoder<unknown>) => decode(entries.get(key), childPath(path, key))
    const decoded = Object.entries(members).map(([key, decode]) => [key, decodeMember(key, decode)])
    return Object.fromEntries(decoded) as { [K in keyof Members]: Decoded<Members[K]> }
  }

export const getMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const childPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
