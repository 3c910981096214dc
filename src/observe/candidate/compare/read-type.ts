import { isJson, isUtf8Charset, readMediaType } from '../../../contract/media-type.ts'
import type { HeaderFields } from '../../../header-fields.ts'

/** The type of a body, as far as it is compared. */
export interface ComparedType {
  /** It comes from the upstream, and is kept and shown: what is no type is a word of the gateway. */
  readonly text: string
  /** Whether the body says that it is JSON. */
  readonly isJson: boolean
}

/** Reads the type of a body. Parameters say nothing of JSON (RFC 8259 §11), save for another charset. */
export const readComparedType = (fields: HeaderFields): ComparedType => {
  const mediaType = readMediaType(fields)
  if (mediaType === null) return { text: 'none', isJson: false }
  if (mediaType === 'several') return { text: 'several', isJson: false }
  const { type, parameters } = mediaType
  if (!typePattern.test(type)) return { text: 'malformed', isJson: false }
  if (isJson(type) && isUtf8Charset(parameters)) return { text: type, isJson: true }
  const charset = charsetParameter.exec(parameters)?.[1]?.toLowerCase()
  return { text: charset === undefined ? type : `${type}; charset=${charset}`, isJson: false }
}

const typePattern = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/
const charsetParameter = /;[ \t]*charset[ \t]*=[ \t]*"?([a-z0-9_.:+-]{1,32})/i
