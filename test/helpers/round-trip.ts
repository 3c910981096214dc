import { exchangeRaw } from './raw-client.ts'
import { parseResponses, type RawResponse } from './raw-response.ts'
import type { ReceivedRequest, TestUpstream } from './upstream.ts'

/** A raw request as it was sent, as it got a response, and as it arrived. */
export interface RoundTrip {
  readonly response: RawResponse
  /** What reached the upstream in the meantime. */
  readonly arrived: readonly ReceivedRequest[]
}

/** Sends one raw request (latin1) on a connection of its own and returns the response and what reached the upstream. */
export const roundTrip = async (port: number, upstream: TestUpstream, bytes: string): Promise<RoundTrip> => {
  const before = upstream.requests.length
  const text = await exchangeRaw(port, bytes)
  const [response] = parseResponses(text, [bytes.slice(0, bytes.indexOf(' '))]).responses
  if (response === undefined) throw new Error(`no response: ${JSON.stringify(text)}`)
  return { response: response, arrived: upstream.requests.slice(before) }
}

/** Lists the values of a field as it arrived; `lower` is the name in lower case. */
export const receivedValues = (arrived: ReceivedRequest | undefined, lower: string): string[] =>
  (arrived?.rawHeaders ?? []).filter((_, i, all) => i % 2 === 1 && all[i - 1]?.toLowerCase() === lower)

/** Lists the names of the fields that arrived, in lower case. */
export const receivedNames = (arrived: ReceivedRequest | undefined): string[] =>
  (arrived?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
