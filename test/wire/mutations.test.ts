import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { gatewayForAll } from '../helpers/gateway.ts'
import { type PipelinedRequest, sendPipelined } from '../helpers/pipelined-client.ts'
import { findProblemFault, headerValues, type RawResponse } from '../helpers/raw-response.ts'
import { type Mutation, randomised, systematic } from './mutations.ts'
import { type Verdict, verdictOn } from './oracle.ts'

// MUTATION_SEED=n tries others; a failure prints the one it had.
const seed = Number(process.env.MUTATION_SEED ?? 20_240_229)
const maxTarget = 8192

const site = gatewayForAll()

interface Case extends Mutation {
  readonly id: string
  readonly verdict: Verdict
}

const fault = (response: RawResponse | null, { method, verdict, id }: Case): string | null => {
  if (response === null) return 'no answer'
  if (verdict.url === null) {
    if (headerValues(response, 'allow').join() !== (verdict.allow ?? ''))
      return `Allow: ${headerValues(response, 'allow')}`
    return findProblemFault(response, verdict.status, method)
  }
  if (response.status !== 200) return `status ${response.status}, not 200`
  return headerValues(response, 'x-request-id').join() === id ? null : 'the answer to another request'
}

/** Packs what keeps its connection into batches, each ended by one that does not. */
const pack = (cases: readonly Case[], pieceOf: (each: Case) => PipelinedRequest): PipelinedRequest[][] => {
  const batches: PipelinedRequest[][] = []
  let batch: PipelinedRequest[] = []
  for (const each of cases) {
    if (each.alone === true) {
      batches.push([pieceOf(each)])
      continue
    }
    batch.push(pieceOf(each))
    if (!each.verdict.ends && batch.length < 12) continue
    batches.push(batch)
    batch = []
  }
  return batch.length === 0 ? batches : [...batches, batch]
}

/** Sends every mutation and lists whatever went otherwise than the oracle says, with what reached the upstream. */
const run = async (name: string, mutations: readonly Mutation[]): Promise<string[]> => {
  const before = site.upstream.requests.length
  const cases = mutations.map((each, i): Case => {
    return { ...each, id: `${name}-${i}`, verdict: verdictOn(each.method, each.target, maxTarget) }
  })
  const faults: string[] = []
  const report = (each: Case, what: string): void => {
    const line = `${each.method} ${each.target.slice(0, 200)}`
    faults.push(`${JSON.stringify(line)} (${each.verdict.status}): ${what}`)
  }
  const pieceOf = (each: Case): PipelinedRequest => ({
    bytes: `${each.method} ${each.target} HTTP/1.1\r\nHost: gateway\r\nX-Request-Id: ${each.id}\r\n\r\n`,
    method: each.method,
    onAnswer: (response) => {
      const what = fault(response, each)
      if (what !== null) report(each, what)
    },
  })

  await sendPipelined(site.port, 24, pack(cases, pieceOf))

  const arrived = new Map<string, string>()
  for (const { method, url, rawHeaders } of site.upstream.requests.slice(before)) {
    const id = rawHeaders[rawHeaders.findIndex((field) => field.toLowerCase() === 'x-request-id') + 1] ?? ''
    if (arrived.has(id)) faults.push(`${id} arrived twice`)
    arrived.set(id, `${method} ${url}`)
  }
  for (const each of cases) {
    const wanted = each.verdict.url === null ? undefined : `${each.method} ${each.verdict.url}`
    if (arrived.get(each.id) !== wanted) report(each, `reached the upstream as ${arrived.get(each.id)}`)
    arrived.delete(each.id)
  }
  for (const [id, what] of arrived) faults.push(`${id} came from nowhere: ${what}`)
  return faults
}

const fixed = systematic(maxTarget)
const drawn = randomised(seed, 600)

describe(`of ${fixed.length + drawn.length} request lines (seed ${seed}) only the nine are forwarded`, () => {
  test('hundreds of them are the nine', () => {
    const forwarded = [...fixed, ...drawn].filter((each) => verdictOn(each.method, each.target, maxTarget).url !== null)

    expect(forwarded.length).toBeGreaterThanOrEqual(150)
  })

  test('each of the nine is one of them', async () => {
    const nine = allOperations.map(({ method, path }) => ({ method, target: `${path}?a=%20b` }))

    expect(await run('n', nine)).toEqual([])
    expect(nine.map(({ method, target }) => verdictOn(method, target, maxTarget).status)).toEqual(Array(9).fill(200))
  })

  test('every systematic one has the status that the oracle names', async () => {
    const faults = await run('s', fixed)

    expect(faults.slice(0, 20), `${faults.length} faults`).toEqual([])
  })

  test('every random one has the status that the oracle names', async () => {
    const faults = await run('r', drawn)

    expect(faults.slice(0, 20), `${faults.length} faults, MUTATION_SEED=${seed}`).toEqual([])
  })
})
