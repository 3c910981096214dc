/** Says what is asked for in each turn. */
import { allOperations, type Operation } from '../../src/operations.ts'
import {
  largeMark,
  largeResponse,
  largeStructuredBody,
  mediumBody,
  smallBody,
  smallResponse,
  storableMark,
  structuredBody,
  structuredMark,
} from './payloads.ts'

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>

export interface Workload {
  readonly name: string
  readonly operation: Operation
  /** The raw target of each request. */
  readonly target: string
  /** Header fields of the request; Host and Content-Length come from the load generator. */
  readonly fields: Fields
  /**
   * Fields that requests carry by turns beside those, each list in one request and the first again after the last;
   * none: all are alike.
   */
  readonly byTurns?: readonly Fields[]
  /** Empty for no body. */
  readonly body: string
  /** What each response must hold, byte for byte. */
  readonly response: string
  /** Connections that are busy; null is as many as --connections says. */
  readonly connections: number | null
  /** Keep-alive connections that stay open beside the busy ones, each having made one request before. */
  readonly idle: number
  /** True for one that runs only when it is named, or with --all. */
  readonly onRequest: boolean
}

/** Lists fields as a lender's system sends them: their number is part of what a proxy works on. */
const fields = {
  'User-Agent': 'lender-core/4.2',
  Accept: 'application/json',
  'Accept-Encoding': 'gzip, deflate',
  Authorization: `Bearer ${'b'.repeat(40)}`,
}

const operation = (id: Operation['id']): Operation => {
  const found = allOperations.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

const asking = (id: Operation['id'], query = '') => ({
  operation: operation(id),
  target: `${operation(id).path}${query}`,
  fields,
  body: '',
  response: smallResponse,
  connections: null,
  idle: 0,
  onRequest: true,
})

const posting = (body: string, query = '') => ({
  ...asking('valuation.score', query),
  fields: { ...fields, 'Content-Type': 'application/json' },
  body,
})

/** Asks without a credential, so that any cache may serve it, for what may be stored. */
const storable = (mark = '') => {
  const { Authorization, ...open } = fields
  return { ...asking('market.insights', `?${storableMark}${mark}`), fields: open }
}

/** Asks for about 200 bytes with a GET: what runs at a fixed rate too. */
export const get: Workload = { ...asking('market.insights'), name: 'get', onRequest: false }

/** Sends a small body. */
export const post: Workload = { ...posting(smallBody), name: 'post', onRequest: false }

/** Lists the workloads, in the order of the table. */
export const workloads: readonly Workload[] = [
  get,
  post,
  { ...posting(mediumBody), name: 'post-64k' },
  { ...posting(structuredBody, `?${structuredMark}`), name: 'json-2k', response: structuredBody },
  { ...posting(largeStructuredBody, `?${structuredMark}`), name: 'json-64k', response: structuredBody },
  { ...asking('market.insights', `?${largeMark}`), name: 'response-1m', response: largeResponse },
  { ...storable(), name: 'cached' },
  { ...storable(`&${largeMark}`), name: 'cached-1m', response: largeResponse },
  { ...asking('market.insights'), name: 'idle', connections: 16, idle: 1_000 },
  { ...asking('market.insights'), name: 'churn', fields: { ...fields, Connection: 'close' } },
]
