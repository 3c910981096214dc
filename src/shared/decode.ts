import { escapeControls } from './escape-controls.ts'

/** Reads one value of an answer, which may be anything; `path` says where it stands. Throws {@link DecodeError}. */
export type Decoder<T> = (value: unknown, path: string) => T

/** The type of what a reader reads: an answer is described once, by its reader. */
export type Decoded<Reader> = Reader extends Decoder<infer T> ? T : never

/** Says that an answer is not what a gateway says, and where. */
export class DecodeError extends Error {
  constructor(path: string, expected: string) {
    super(`${expected} is expected${path === '' ? '' : ` at ${path}`}`)
  }
}

/** Reads text, harmless to a terminal. */
export const asText: Decoder<string> = (value, path) => {
  if (typeof value === 'string') return escapeControls(value)
  throw new DecodeError(path, 'text')
}

/** Reads one of some words. What is none of them is taken as well: nothing but its wording depends on it. */
export const asWord = <Word extends string>(): Decoder<Word> => asText as Decoder<Word>

/** Reads a number. */
export const asNumber: Decoder<number> = (value, path) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new DecodeError(path, 'a number')
}

/** Makes a reader of a number for each member of an object, to stand among those of a {@link asObject}. */
export const asNumbers = <T extends object>(like: T): { readonly [K in keyof T]: Decoder<number> } =>
  Object.fromEntries(Object.keys(like).map((name) => [name, asNumber])) as { [K in keyof T]: Decoder<number> }

/** Reads true or false. */
export const asBoolean: Decoder<boolean> = (value, path) => {
  if (typeof value === 'boolean') return value
  throw new DecodeError(path, 'true or false')
}

/** Takes what is there, as it is. */
export const asUnknown: Decoder<unknown> = (value) => value

/** Reads what may be null; missing is the same. */
export const asNullable =
  <T>(read: Decoder<T>): Decoder<T | null> =>
  (value, path) =>
    value === null || value === undefined ? null : read(value, path)

/** Reads a list. */
export const asList =
  <T>(read: Decoder<T>): Decoder<readonly T[]> =>
  (value, path) => {
    if (Array.isArray(value)) return value.map((entry, i) => read(entry, `${path}[${i}]`))
    throw new DecodeError(path, 'a list')
  }

/** Reads a map of any keys. */
export const asMap =
  <T>(read: Decoder<T>): Decoder<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isMap(value)) throw new DecodeError(path, 'a map')
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [
        escapeControls(key),
        read(entry, childPath(path, escapeControls(key))),
      ]),
    )
  }

/** Reads a map of known keys; others are left out. */
export const asObject =
  <Members extends Readonly<Record<string, Decoder<unknown>>>>(
    members: Members,
  ): Decoder<{ readonly [K in keyof Members]: Decoded<Members[K]> }> =>
  (value, path) => {
    if (!isMap(value)) throw new DecodeError(path, 'a map')
    const given = new Map(Object.entries(value))
    const read = Object.entries(members).map(([key, of]) => [key, of(given.get(key), childPath(path, key))])
    return Object.fromEntries(read) as { [K in keyof Members]: Decoded<Members[K]> }
  }

/** Finds a member of an answer that may be anything; undefined: there is none. */
export const getMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

const childPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
