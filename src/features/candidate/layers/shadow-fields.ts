import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'

export interface ShadowFieldsOptions {
  /** The field that says that a request is a copy. */
  readonly marker: string
  readonly forwardsCredentials: boolean
  /** Names, in any case, of the fields that hold credentials of clients as configured. */
  readonly credentialFields: readonly string[]
  /** Names, in any case, of fields that hold none, whatever they are called: keys of idempotency. */
  readonly keptFields: readonly string[]
}

/**
 * Creates the function that turns the fields of a request into those of its copy: without the credentials of the
 * client, unless they are forwarded, and marked. Fields that the gateway itself sets for the candidate come later.
 * Names are compared as a CGI-like back end reads them.
 */
export const createShadowFields = ({
  marker,
  forwardsCredentials,
  credentialFields,
  keptFields,
}: ShadowFieldsOptions): ((fields: HeaderFields) => HeaderFields) => {
  const removed = new Set((forwardsCredentials ? [] : credentialFields).map(foldUnderscores))
  removed.add(foldUnderscores(marker))
  const kept = new Set(keptFields.map(foldUnderscores))
  return (fields) => {
    const copied: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const folded = foldUnderscores(name)
      if (removed.has(folded)) continue
      if (!forwardsCredentials && namesCredential(name) && !kept.has(folded)) continue
      copied.push(name, fields[i + 1] as string)
    }
    copied.push(marker, '1')
    return copied
  }
}

/**
 * Creates the function that removes the marker from the fields of a client's request: what comes marked is a copy, and
 * a client must not make one. The same list comes back where there is none.
 */
export const createMarkerRemover = (marker: string): ((fields: HeaderFields) => HeaderFields) => {
  const folded = foldUnderscores(marker)
  const isMarker = (name: string): boolean => name.length === folded.length && foldUnderscores(name) === folded
  return (fields) => {
    for (let i = 0; i < fields.length; i += 2)
      if (isMarker(fields[i] as string)) return fields.filter((_, at) => !isMarker(fields[at - (at % 2)] as string))
    return fields
  }
}
