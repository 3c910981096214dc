import { type Fields, withTwins } from '../../fields.ts'

/**
 * Makes what the fields of a request become for its upstream: without the credentials, unless they are forwarded, and with who it is.
 * `credentials` are the names, in lower case, of the fields that were looked at. What a back end may read as one of them, and nobody has looked
 * at, never goes on.
 */
export const onward = (
  credentials: readonly string[],
  forwards: boolean,
  identityField: string | null,
): ((fields: Fields, client: string) => Fields) => {
  const exact = new Set(credentials)
  const folded = new Set(credentials.map(withTwins))
  const lengths = new Set(credentials.map(({ length }) => length))
  const goesOn = (name: string): boolean =>
    !(lengths.has(name.length) && folded.has(withTwins(name))) || (forwards && exact.has(name.toLowerCase()))
  return (fields, client) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (goesOn(name)) kept.push(name, fields[i + 1] as string)
    }
    if (identityField !== null) kept.push(identityField, client)
    return kept
  }
}
