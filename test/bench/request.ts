/** Writes a workload's request as the bytes that a client sends, for generators that have no HTTP client of their own. */
import type { Workload } from './workload.ts'

export const requestText = (port: number, { operation, target, fields, body }: Workload): string => {
  const head = [
    `${operation.method} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
