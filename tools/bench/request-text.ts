/**
 * Writes a workload's request as the bytes that a client sends, for generators that have no HTTP client of their own.
 */
import type { Fields, Workload } from './workload.ts'

export const requestText = (port: number, workload: Workload, more: Fields = {}): string => {
  const { operation, target, fields, body } = workload
  const head = [
    `${operation.method} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...Object.entries({ ...fields, ...more }).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Writes all requests that a workload sends by turns; one when all are alike. */
export const requestTexts = (port: number, workload: Workload): readonly string[] =>
  workload.byTurns === undefined
    ? [requestText(port, workload)]
    : workload.byTurns.map((fields) => requestText(port, workload, fields))
