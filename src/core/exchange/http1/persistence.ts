/**
 * Tells whether a connection persists after a message (RFC 9112 §9.3). `connection` holds the values of its Connection
 * fields, joined with commas; where it says nothing, HTTP/1.1 persists (`byDefault`) and HTTP/1.0 does not.
 */
export const isPersistent = (byDefault: boolean, connection: string): boolean =>
  !closeOption.test(connection) && (byDefault || keepAliveOption.test(connection))

const closeOption = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const keepAliveOption = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i
