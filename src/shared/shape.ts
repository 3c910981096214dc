import { printable } from './printable.ts'

/** Reads one value of an answer, which may be anything; `path` says where it stands. Throws {@link Misread}. */
export type Read<T> = (value: unknown, path: string) => T

/** The type of what a reader reads: an answer is described once, by its reader. */
export type Shaped<Reader> = Reader extends Read<infer T> ? T : never

/** Says that an answer is not what a gateway says, and where. */
export class Misread extends Error {
  constructor(path: string, expected: string) {
    super(`${expected} is expected${path === '' ? '' : ` at ${path}`}`)
  }
}

/** Reads text, harmless to a terminal. */
export const text: Read<string> = (value, path) => {
  if (typeof value === 'string') return printable(value)
  throw new Misread(path, 'text')
}

/** Reads one of some words. What is none of them is taken as well: nothing but its wording depends on it. */
export const word = <Word extends string>(): Read<Word> => text as Read<Word>

/** Reads a number. */
export const number: Read<number> = (value, path) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new Misread(path, 'a number')
}

/** Makes a reader of a number for each member of an object, to stand among those of a {@link shape}. */
export const numbers = <T extends object>(like: T): { readonly [K in keyof T]: Read<number> } =>
  Object.fromEntries(Object.keys(like).map((name) => [name, number])) as { [K in keyof T]: Read<number> }

/** Reads true or false. */
export const flag: Read<boolean> = (value, path) => {
  if (typeof value === 'boolean') return value
  throw new Misread(path, 'true or false')
}

/** Takes what is there, as it is. */
export const anything: Read<unknown> = (value) => value

/** Reads what may be null; missing is the same. */
export const nullable =
  <T>(read: Read<T>): Read<T | null> =>
  (value, path) =>
    value === null || value === undefined ? null : read(value, path)

/** Reads a list. */
export const list =
  <T>(read: Read<T>): Read<readonly T[]> =>
  (value, path) => {
    if (Array.isArray(value)) return value.map((entry, i) => read(entry, `${path}[${i}]`))
    throw new Misread(path, 'a list')
  }

/** Reads a map of any keys. */
export const map =
  <T>(read: Read<T>): Read<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isMap(value)) throw new Misread(path, 'a map')
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [printable(key), read(entry, below(path, printable(key)))]),
    )
  }

/** Reads a map of known keys; others are left out. */
export const shape =
  <Members extends Readonly<Record<string, Read<unknown>>>>(
    members: Members,
  ): Read<{ readonly [K in keyof Members]: Shaped<Members[K]> }> =>
  (value, path) => {
    if (!isMap(value)) throw new Misread(path, 'a map')
    const given = new Map(Object.entries(value))
    const read = Object.entries(members).map(([key, of]) => [key, of(given.get(key), below(path, key))])
    return Object.fromEntries(read) as { [K in keyof Members]: Shaped<Members[K]> }
  }

/** Finds a member of an answer that may be anything; undefined: there is none. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
