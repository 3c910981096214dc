/**
 * Compares with an upstream that lies: deep, wide, endless other names, values and types, in a process of its own.
 * Prints what that costs in memory, in the middle and at the end: `hostile-child.ts ROUNDS`.
 */
import { setImmediate } from 'node:timers/promises'
import { allOperations } from '../../../../src/operations.ts'
import { comparedResponse, createCounts } from './compare/response.ts'

const counts = createCounts({ fields: ['x-hostile'], arrays: { '/list': 'id' }, noise: true, examples: true })

let drawn = 0

/** Makes a name of letters, which passes for a word. */
const word = (length: number): string => {
  drawn++
  return Array.from({ length }, (_, at) => String.fromCharCode(97 + ((drawn * 31 + (drawn >> at) * 7) % 26))).join('')
}

const long = (): string => `${word(8)}${'x'.repeat(10_000)}`

const documents: readonly (() => unknown)[] = [
  () => Object.fromEntries(Array.from({ length: 100 }, () => [word(8), word(4)])),
  () => Array.from({ length: 90 }).reduce((inner) => ({ [word(3)]: inner }), word(3)),
  () => ({ [long()]: long(), list: Array.from({ length: 200 }, () => ({ id: long().slice(0, 100) })) }),
  () => [word(5), { [word(5)]: word(5) }, null, drawn],
  () => ({ __proto__: word(5), constructor: word(5), [word(6)]: [[[[word(6)]]]] }),
]

const toResponse = (at: number) => {
  const isJson = at % 7 !== 0
  const contentType = isJson ? 'application/json' : `application/${word(20)}`
  const text = JSON.stringify(documents[at % documents.length]?.())
  return {
    ...comparedResponse(at % 11 === 0 ? text.slice(1) : text),
    fields: ['Content-Type', contentType, 'X-Hostile', long()],
    headMs: at % 1000,
    status: 200 + ((at * 13) % 300),
  }
}

const rounds = Number(process.argv[2])

const heapUsed = async (): Promise<number> => {
  // What one collection lets go, the next one takes.
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await setImmediate()
  }
  return process.memoryUsage().heapUsed
}

let middle = 0
for (let at = 0; at < rounds; at++) {
  const { id } = allOperations[at % allOperations.length] ?? allOperations[0]
  const request = { operation: id, requestId: `${long().slice(0, 120)}${at}`, at }
  const [primary, candidate] = [toResponse(at), toResponse(at)]
  if (at % 3 === 0) counts.onRepeatedPair(primary, candidate, request)
  counts.onPair(primary, candidate, request)
  if (at === rounds >> 1) middle = await heapUsed()
}
const end = await heapUsed()
const { rows, noise, others } = counts.report
const bytes = JSON.stringify(counts.report).length
console.log(JSON.stringify({ middle, end, rows: rows.length, noise: noise.length, others, report: bytes }))
