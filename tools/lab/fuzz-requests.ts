/**
 * Runs the gateway's parser and llhttp over mutated requests, and counts in what they differ:
 * `node tools/lab/fuzz-requests.ts [COUNT] [FIRST]`; 1,000,000 from 0 on take some minutes. Ends with 1 when a
 * difference is none of those that are known (test/core/downstream/http1/fuzz/differences.ts).
 */
import { judgeAll } from '../../test/core/downstream/http1/fuzz/judge.ts'

const [count = 1_000_000, first = 0] = process.argv.slice(2).map(Number)
const outcomes = new Map<string, number>()
const unexplained: Error[] = []

await judgeAll(first, count, (outcome) => {
  if (outcome instanceof Error) unexplained.push(outcome)
  else outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
})

for (const [outcome, times] of [...outcomes].sort(([, one], [, other]) => other - one))
  console.log(`${String(times).padStart(9)}  ${outcome}`)
console.log(`${String(unexplained.length).padStart(9)}  unexplained`)
for (const { message, cause } of unexplained.slice(0, 10)) console.log(`\n${message}\n${cause}`)
process.exitCode = unexplained.length === 0 ? 0 : 1
