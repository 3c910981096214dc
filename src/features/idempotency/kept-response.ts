import { BytesBody } from '../../core/exchange/bodies/response-bodies.ts'
import type { ProxyResponse } from '../../core/exchange/exchange.ts'
import { type HeaderFields, omitFields, perExchangeFields } from '../../core/exchange/header-fields.ts'

/** The field of a replayed response. It is this gateway's own: the draft has none. */
const replayedField = 'Idempotency-Replayed'

// A cookie is for whom the first response was for, and may be over by the time of a replay.
const unkeptFields: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2', ...perExchangeFields])

/**
 * Encodes a response to be replayed: the length of its head in four bytes, the head as JSON, the body. It may lie in
 * memory that others share, so stores copy it.
 */
export const encodeKeptResponse = ({ status, reason, fields }: Omit<ProxyResponse, 'body'>, body: Buffer): Buffer => {
  const head = JSON.stringify([status, reason, omitFields(fields, unkeptFields)])
  const headLength = Buffer.byteLength(head)
  const encoded = Buffer.allocUnsafe(4 + headLength + body.length)
  encoded.writeUInt32BE(headLength)
  encoded.write(head, 4)
  body.copy(encoded, 4 + headLength)
  return encoded
}

/** Decodes a response that {@link encodeKeptResponse} has encoded, marked as replayed. */
export const decodeKeptResponse = (encoded: Buffer): ProxyResponse => {
  const bodyAt = 4 + encoded.readUInt32BE(0)
  const [status, reason, fields] = JSON.parse(encoded.toString('utf8', 4, bodyAt)) as [number, string, HeaderFields]
  return {
    status,
    reason,
    fields: [...fields, replayedField, 'true'],
    body: new BytesBody(encoded.subarray(bodyAt)),
  }
}
