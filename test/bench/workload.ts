/** Says what is asked for in each turn. */
import { catalog, type Operation } from '../../src/catalog.ts'

export interface Workload {
  readonly name: string
  readonly operation: Operation
  /** Header fields of the request; Host and Content-Length come from the load generator. */
  readonly fields: Readonly<Record<string, string>>
  /** Empty for no body. */
  readonly body: string
}

/** Lists fields as a lender's system sends them: their number is part of what a proxy works on. */
const fields = {
  'User-Agent': 'lender-core/4.2',
  Accept: 'application/json',
  'Accept-Encoding': 'gzip, deflate',
  Authorization: `Bearer ${'b'.repeat(40)}`,
}

/** Holds about 200 bytes of JSON. */
const smallBody = JSON.stringify({
  requestRef: '3f6d2c1e-8a51-4a0b-9b6e-5d2f7c1a9e10',
  items: [
    { key: 'a', amount: 250_000, rate: 3.85 },
    { key: 'b', amount: 18_500, rate: 4.1 },
  ],
  note: 'bench',
  at: '2026-01-15T09:30:00Z',
})

const operation = (id: Operation['id']): Operation => {
  const found = catalog.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

/** Lists the workloads, in the order of the table. */
export const workloads: readonly Workload[] = [
  { name: 'get', operation: operation('market.insights'), fields, body: '' },
  {
    name: 'post',
    operation: operation('valuation.score'),
    fields: { ...fields, 'Content-Type': 'application/json' },
    body: smallBody,
  },
]

/** Answers every measured request: about 200 bytes of JSON. */
export const fixedAnswer = JSON.stringify({
  status: 'ok',
  ref: '9e107d9d-372b-4f7a-8c1e-2b5f0a6d4c33',
  values: [101.25, 99.75, 103.5, 98.0, 100.0, 102.5],
  currency: 'EUR',
  source: 'bench upstream',
  at: '2026-01-15T09:30:00Z',
  complete: true,
})

/** Marks a target whose answer tells what arrived, for checking a peer before it is measured. */
export const echoMark = 'bench-echo=1'

/** Tells what the upstream received. */
export interface Echo {
  readonly method: string
  readonly target: string
  readonly bodyBytes: number
  readonly sha256: string
}

/** Lists where the one upstream process listens, for a peer that has several endpoints. */
export const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const
