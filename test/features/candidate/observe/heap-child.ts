/**
 * Compares responds with secrets in them, in a process of its own, and writes its heap: `heap-child.ts SECRETS HEAP
 * [EXAMPLES]`. The secrets are made here and stand in the first file, so that nothing else of the process has to know
 * them.
 */
import { newSecret, writeSettledHeap } from '../../../helpers/secrets-in-heap.ts'
import { comparedResponse, createCounts } from './compare/response.ts'

const [secretsFile = '', heapFile = '', examples = 'false'] = process.argv.slice(2)

const rules = { fields: ['x-owner'], ignore: ['/ignored'], numbers: { relative: 0.01 }, arrays: { '/list': 'id' } }
const counts = createCounts({ ...rules, noise: true, examples: examples === 'true' })

const toResponse = (body: string, fields: readonly string[]) => ({
  ...comparedResponse(body),
  fields: ['Content-Type', 'application/json', ...fields],
  headMs: 1,
})

const request = { operation: 'market.insights', requestId: 'r-1' } as const

/** Plants two new secrets, which no variable holds afterwards. */
const round = (): void => {
  const documents = [newSecret(secretsFile), newSecret(secretsFile)].map((text) => ({
    fields: ['X-Owner', text],
    bodies: [
      { name: text, ignored: text, list: [{ id: text, name: text }], nested: { deep: [{ name: `a ${text}` }] } },
      { list: [text, { id: 'a', name: text }], onlyHere: text },
      { name: [text] },
      text,
    ].map((body) => JSON.stringify(body)),
    broken: `{"name":"${text}`,
  }))
  const [one, other] = documents
  if (one === undefined || other === undefined) return
  const noisy = documents.map(({ bodies: [body = ''] }) => toResponse(`{"noise":${body}}`, []))
  if (noisy[0] !== undefined && noisy[1] !== undefined) counts.onRepeatedPair(noisy[0], noisy[1], request)
  for (const [at, body] of [...one.bodies, one.broken].entries())
    counts.onPair(toResponse(body, one.fields), toResponse(other.bodies[at] ?? other.broken, other.fields), request)
}

for (let i = 0; i < 20; i++) round()
await writeSettledHeap(heapFile)
console.log(`${counts.report.rows.length + counts.report.noise.length} places`)
