/**
 * Found once for each table entry, since clients repeat most fields. `malformed`: forbidden in any message (RFC 9113
 * §8.2). `badValue`: only the value is wrong, as it may be on HTTP/1.
 */
export const fieldKinds = {
  plain: 0,
  malformed: 1,
  method: 2,
  scheme: 3,
  path: 4,
  authority: 5,
  contentLength: 6,
  host: 7,
  cookie: 8,
  badValue: 9,
} as const

export type FieldKind = (typeof fieldKinds)[keyof typeof fieldKinds]

/** The name in lower case, the value latin1. */
export interface HpackField {
  readonly name: string
  readonly value: string
  readonly kind: FieldKind
  /** In a table (RFC 7541 §4.1) and in a list (RFC 9113 §6.5.2). */
  readonly size: number
}

export const fieldOverhead = 32

// They belong to one hop (RFC 9113 §8.2.2).
const forbidden = ['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']

const kindsByName: ReadonlyMap<string, FieldKind> = new Map<string, FieldKind>([
  [':method', fieldKinds.method],
  [':scheme', fieldKinds.scheme],
  [':path', fieldKinds.path],
  [':authority', fieldKinds.authority],
  ['content-length', fieldKinds.contentLength],
  ['host', fieldKinds.host],
  ['cookie', fieldKinds.cookie],
  ...forbidden.map((name) => [name, fieldKinds.malformed] as const),
])

const colon = 0x3a

/** The kind of a field with this name and a valid value. */
export const kindOfName = (name: string): FieldKind =>
  kindsByName.get(name) ??
  (name.charCodeAt(0) === colon || !isLowerCaseToken(name) ? fieldKinds.malformed : fieldKinds.plain)

export const createHpackField = (name: string, value: string, kind: FieldKind = kindOfName(name)): HpackField => ({
  name,
  value,
  kind: judgeValue(name, value, kind),
  size: fieldOverhead + name.length + value.length,
})

const judgeValue = (name: string, value: string, kind: FieldKind): FieldKind => {
  if (kind === fieldKinds.malformed) return kind
  if (!isFieldValue(value)) return name.charCodeAt(0) === colon ? fieldKinds.malformed : fieldKinds.badValue
  const isWrong = kind === fieldKinds.contentLength ? !/^\d{1,15}$/.test(value) : name === 'te' && value !== 'trailers'
  return isWrong ? fieldKinds.malformed : kind
}

/** Quotes nothing of the client: the log gets fixed words. */
export const explainMalformed = ({ name }: HpackField): string => {
  if (name.charCodeAt(0) === colon) return 'a pseudo-field that is unknown, or has an invalid value'
  if (forbidden.includes(name)) return `the field ${name}, which is of HTTP/1`
  return kindsByName.has(name) || name === 'te'
    ? `an invalid value of ${name}`
    : 'a field name that is not a lower-case token'
}

const tokenBytes = new Uint8Array(256)
for (const letter of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") tokenBytes[letter.charCodeAt(0)] = 1

const isLowerCaseToken = (name: string): boolean => {
  for (let i = 0; i < name.length; i++) if (tokenBytes[name.charCodeAt(i)] === 0) return false
  return name !== ''
}

/** RFC 9110 §5.5: no control character but tab; RFC 9113 §8.2.1: no blank at an end. */
const isFieldValue = (value: string): boolean => {
  const last = value.length - 1
  for (let i = 0; i <= last; i++) {
    const code = value.charCodeAt(i)
    const isText = code > 0x20 ? code !== 0x7f : (code === 0x20 || code === 0x09) && i > 0 && i < last
    if (!isText) return false
  }
  return true
}
