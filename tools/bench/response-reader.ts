/** Finds the end of each response on one connection that has a single request in flight. */

export interface CompleteResponse {
  readonly status: number
  /** True when the peer closes the connection after it. */
  readonly closes: boolean
}

/**
 * Makes a function that takes the latin1 text as it comes and reports a response that is complete, by length or by the
 * last chunk.
 */
export const responseReader = (): ((piece: string) => CompleteResponse | null) => {
  let head = ''
  let responded: CompleteResponse | null = null
  /** Bytes still to come; null for a chunked body. */
  let awaited: number | null = 0
  let tail = ''
  const begin = (piece: string): string | null => {
    head += piece
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return null
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    awaited = length === undefined ? null : Number(length)
    responded = { status: Number(head.slice(9, 12)), closes: /\r\nconnection: *close/i.test(head.slice(0, end)) }
    return head.slice(end + 4)
  }
  return (piece) => {
    const body = responded === null ? begin(piece) : piece
    if (body === null) return null
    if (awaited === null) tail = (tail + body).slice(-7)
    else awaited -= body.length
    const over = awaited === null ? tail === '\r\n0\r\n\r\n' || tail === '0\r\n\r\n' : awaited <= 0
    if (!over) return null
    const whole = responded
    head = ''
    responded = null
    tail = ''
    return whole
  }
}
