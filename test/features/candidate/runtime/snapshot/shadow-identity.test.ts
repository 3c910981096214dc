/** With copies and without, clients and the primary have the same bytes, whatever the candidate does. */
import { createHash, randomBytes } from 'node:crypto'
import { Agent, request as sendRequest } from 'node:http'
import { expect, onTestFinished } from 'vitest'
import { allOperations, byGroup, type Operation } from '../../../../../src/operations.ts'
import { candidateWays, openShadowCandidate } from '../../../../../tools/bench/shadow-candidate.ts'
import { bootLiveGateway, fetchAdmin } from '../../../../helpers/live-gateway.ts'
import { part, testAndDrill } from '../../../../helpers/speed.ts'
import { httpUpstream, type ReceivedRequest } from '../../../../helpers/upstream.ts'

const kib = 1024

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A request, as a client sends it: with a length, or in chunks. */
interface SentRequest {
  readonly operation: Operation
  readonly id: string
  readonly query: string
  readonly fields: readonly string[]
  readonly chunks: readonly Buffer[]
  readonly isChunked: boolean
}

const bodies: readonly (readonly Buffer[])[] = [
  [],
  [Buffer.from('{"a":1}')],
  [randomBytes(15 * kib)],
  [randomBytes(63 * kib)],
  [randomBytes(40 * kib), randomBytes(40 * kib), Buffer.from('end')],
  [randomBytes(1100 * kib)], // more than is copied
]

const queries = ['', '?', '?a=%2F&a=b', '?answer=large', '?answer=chunked', '?answer=204', '?answer=404']

const requests: readonly SentRequest[] = allOperations.flatMap((operation) =>
  (operation.method === 'GET' ? [[]] : bodies).flatMap((chunks, nth) =>
    queries.flatMap((query) =>
      (chunks.length === 0 ? [false] : [false, true]).map((isChunked) => ({
        operation,
        query,
        chunks,
        isChunked,
        id: `${operation.id}-${nth}-${query.replaceAll(/\W/g, '-')}-${isChunked}`,
        fields: ['x-lower', 'a', 'X-Twice', '1', 'X-Twice', '2', 'Authorization', 'Bearer a', 'Cookie', 'a=b'],
      })),
    ),
  ),
)

/** What the primary answers: it depends on the request alone. */
const answerOf = ({
  url,
  sha256: digest,
}: ReceivedRequest): readonly [number, readonly string[], readonly Buffer[]] => {
  const text = Buffer.from(`${url} ${digest}`)
  const large = Buffer.alloc(700 * kib, text)
  if (url.includes('answer=204')) return [204, [], []]
  if (url.includes('answer=404')) return [404, ['Content-Length', `${text.length}`, 'x-why', 'none'], [text]]
  if (url.includes('answer=large')) return [200, ['Content-Length', `${large.length}`, 'ETag', '"e"'], [large]]
  if (url.includes('answer=chunked')) return [200, ['X-A', '1', 'X-A', '2'], [text, large.subarray(0, 90 * kib), text]]
  return [200, ['Content-Length', `${text.length}`, 'Content-Type', 'text/plain'], [text]]
}

/** Leaves a field out, and the name that each gateway gives itself in Via. */
const without = (fields: readonly string[], name: string): readonly string[] =>
  fields
    .filter((_, at) => fields[at - (at % 2)]?.toLowerCase() !== name)
    .map((each) => each.replace(/^1\.1 lender-gateway-[0-9a-f]{8}$/, 'this gateway'))

/** Sends a request; resolves to all that the client gets, but for the date. */
const send = ({ operation, query, id, fields, chunks, isChunked }: SentRequest, url: string, agent: Agent) =>
  new Promise<unknown>((resolve, reject) => {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    const framing =
      chunks.length === 0 ? [] : isChunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', `${length}`]
    const headers = ['Host', 'gateway.example', 'X-Request-Id', id, ...fields, ...framing]
    const sent = sendRequest(
      `${url}${operation.path}${query}`,
      { method: operation.method, headers, agent },
      (response) => {
        const received: Buffer[] = []
        response.on('data', (chunk: Buffer) => received.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode, statusMessage, rawHeaders } = response
          resolve([id, statusCode, statusMessage, without(rawHeaders, 'date'), sha256(Buffer.concat(received))])
        })
      },
    )
    sent.on('error', reject)
    for (const chunk of chunks) sent.write(chunk)
    sent.end()
  })

interface ShownUpstream {
  readonly candidate: { readonly shadow: { readonly sent: number } } | null
}

/** Sends all requests through a gateway; returns what clients and the primary had. */
const exchangeAll = async (candidate: string | null) => {
  const primary = await httpUpstream((received, response) => {
    const [status, fields, body] = answerOf(received)
    response.writeHead(status, [...fields])
    for (const part of body) response.write(part)
    response.end()
  })
  const upstreams = byGroup((group) => {
    const posts = allOperations.some((each) => each.group === group && each.method === 'POST')
    const shadow = { sample: '100%', ...(posts ? { posts, sideEffects: 'none' } : {}) }
    return { endpoints: [primary.url], ...(candidate && { candidate: { endpoints: [candidate], shadow } }) }
  })
  const live = await bootLiveGateway({ upstreams, cache: { maxBytes: '1MiB' } })
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const clients = await Promise.all(requests.map((each) => send(each, live.url, agent)))
  agent.destroy()
  const { body } = await fetchAdmin(`${live.admin}/status`)
  await live.gateway.close()
  const idOf = ({ rawHeaders }: ReceivedRequest): string => rawHeaders[rawHeaders.indexOf('X-Request-Id') + 1] ?? ''
  const gotten = primary.requests.map((each) => [
    idOf(each),
    each.method,
    each.url,
    without(each.rawHeaders, 'host'),
    each.sha256,
  ])
  const { upstreams: shown } = body as unknown as { readonly upstreams: Readonly<Record<string, ShownUpstream>> }
  const sent = Object.values(shown).reduce((sum, each) => sum + (each.candidate?.shadow.sent ?? 0), 0)
  return { clients, sent, primary: gotten.toSorted(([a], [b]) => String(a).localeCompare(String(b))) }
}

let original: Awaited<ReturnType<typeof exchangeAll>> | null = null

testAndDrill.each(part(Object.keys(candidateWays)))(
  'all nine are the same with a candidate that %s',
  async (way) => {
    const candidate = await openShadowCandidate(way)
    onTestFinished(() => candidate.close())

    original ??= await exchangeAll(null)
    const copied = await exchangeAll(`http://127.0.0.1:${candidate.port}`)

    expect(copied.clients).toEqual(original.clients)
    expect(copied.primary).toEqual(original.primary)
    expect(copied.primary).toHaveLength(requests.length)
    expect(copied.sent).toBeGreaterThan(0)
  },
  120_000,
)
