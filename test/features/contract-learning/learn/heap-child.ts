/**
 * Learns from traffic with secrets in it, in a process of its own, and writes its heap: `heap-child.ts SECRETS HEAP`.
 * The secrets are made here and stand in the first file, so that nothing else of the process has to know them.
 */
import { createLearner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { allOperations } from '../../../../src/operations.ts'
import { newSecret, writeSettledHeap } from '../../../helpers/secrets-in-heap.ts'
import { learnerOptions } from './learn-hidden-contract.ts'
import { type Observed, plantSecret, requestWith, responseWith } from './planted-secret.ts'

const [secretsFile = '', heapFile = ''] = process.argv.slice(2)
const learner = createLearner(learnerOptions)

/** Plants a new secret, which no variable holds afterwards. */
const round = (): void => {
  const secret = newSecret(secretsFile)
  for (const [at, planted] of plantSecret(secret).entries()) {
    const { id } = allOperations[at % allOperations.length] ?? allOperations[0]
    const observe = ({ request, response }: Observed): void => {
      // As from a socket: what V8 shares with the source of this file is no part of it.
      if (request !== undefined) learner.observeRequest(id, JSON.parse(JSON.stringify(request)))
      else learner.observeResponse(id, JSON.parse(JSON.stringify(response)))
    }
    observe(planted)
    for (let i = 0; i < 5; i++) {
      // Names that are kept, each from a text with a secret in it.
      observe(requestWith({ query: `?branchRegionOfLender=${secret}&otherLongParameter=1` }))
      observe(responseWith({ contentType: `application/vnd.lender.region+json; note=${secret}` }))
    }
  }
}

for (let i = 0; i < 20; i++) round()
await writeSettledHeap(heapFile)
console.log(`${learner.report.operations.size} operations learned`)
