/** A gateway whose group `market`, or another, has a candidate, before two upstreams that say who they are. */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Group } from '../../src/operations.ts'
import type { Settings } from './gateway.ts'
import { httpUpstream, type ReceivedRequest, type TestUpstream } from './upstream.ts'
import { call, fieldValues, type WireRequest } from './wire.ts'

/** The two upstreams of a group. Each responds with its own name. */
interface SideUpstreams {
  readonly primary: TestUpstream
  readonly candidate: TestUpstream
}

type Responding = (request: ReceivedRequest, response: ServerResponse, name: string) => void

const byName: Responding = (_, response, name) => response.end(name)

/** Opens both, which respond with 200 and their name unless `responding` does otherwise. */
export const sideUpstreams = async (responding: Responding = byName): Promise<SideUpstreams> => ({
  primary: await httpUpstream((request, response) => responding(request, response, 'primary')),
  candidate: await httpUpstream((request, response) => responding(request, response, 'candidate')),
})

/** Makes the settings of a group with a candidate; `own` are keys of the candidate, `more` those of the group. */
export const withCandidate = (
  primary: string,
  candidate: string,
  own: object,
  more: object = {},
  group: Group = 'market',
): Settings & { readonly upstreams: object } => ({
  upstreams: { [group]: { endpoints: [primary], ...more, candidate: { endpoints: [candidate], ...own } } },
})

const secretOf = (client: string): string => hash('sha256', client, 'base64url')

/** Makes the settings of clients that prove by a key who they are. */
export const keyedClients = (...ids: readonly string[]): Settings => ({
  auth: { methods: ['apiKey'] },
  clients: ids.map((id) => ({
    id,
    operations: 'all',
    apiKeys: [{ id, sha256: hash('sha256', secretOf(id)) }],
  })),
})

/** Makes the fields by which a client proves who it is. */
export const keyOf = (client: string): readonly string[] => ['X-Api-Key', `${client}.${secretOf(client)}`]

/** Sends a request, and returns its status and body in one text, or the code of the gateway's own error. */
export const ask = async (port: number, request: WireRequest = {}): Promise<string> => {
  const { status, fields, body } = await call(port, request)
  const isProblem = fieldValues(fields, 'content-type').includes('application/problem+json')
  return `${status} ${isProblem ? JSON.parse(body.toString()).code : body}`
}
