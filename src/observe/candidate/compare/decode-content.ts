import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { getFieldValues, type HeaderFields } from '../../../header-fields.ts'
import { ownMember } from '../../../plain-object.ts'

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Why a body was not decoded: its coding is not known, it is larger than the bound, or it is not in that coding. */
export type CodingFault = 'coded' | 'too-large' | 'corrupt'

/** Undoes the content coding of a body: two upstreams compress one document differently. */
export const decodeContent = (bytes: Buffer, fields: HeaderFields, maxBytes: number): Buffer | CodingFault => {
  const [coding, ...more] = getFieldValues(fields, 'content-encoding')
    .flatMap((value) => value.split(','))
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity')
  if (coding === undefined) return bytes
  const decode = ownMember(decoders, coding)
  if (decode === undefined || more.length > 0) return 'coded'
  try {
    return decode(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    return error instanceof RangeError ? 'too-large' : 'corrupt'
  }
}
