/** Prints what it costs to learn from one message with a JSON body of 2 KB: `node tools/bench/contract-learning.ts`. */

import { createLearner } from '../../src/features/contract-learning/learn/learner.ts'
import { measureByTurns } from './by-turns.ts'

const applicant = (at: number) => ({
  id: `123e4567-e89b-12d3-a456-4266141${String(at).padStart(5, '0')}`,
  name: `Applicant ${at}`,
  email: `applicant-${at}@mail.example`,
  bornOn: '1980-02-29',
  income: 40_000.5 + at,
  employed: at % 2 === 0,
  grade: at % 3 === 0 ? 'A' : null,
  address: { street: 'Long Street 12', city: 'Springfield', zip: '01234', country: 'US' },
  tags: ['first-lien', 'NEW'],
})

const bodies = Array.from({ length: 100 }, (_, at) => ({
  requestedAt: '2026-01-31T10:00:00Z',
  amount: 250_000 + at,
  currency: 'EUR',
  applicants: Array.from({ length: 6 }, (_, i) => applicant(at + i)),
}))
const texts = bodies.map((body) => JSON.stringify(body))
const bytes = texts.reduce((total, text) => total + text.length, 0) / texts.length

const fields = ['Host', 'a.example', 'Accept', '*/*', 'X-Branch', '12', 'Content-Type', 'application/json']

const learning = (enums: boolean) => {
  const learner = createLearner({ enums, key: 'key', credentialFields: [] })
  return (at: number): void =>
    learner.observeRequest('valuation.score', {
      query: '?region=north&limit=10',
      fields,
      contentType: 'application/json',
      body: bodies[at % bodies.length],
    })
}

const pieces = {
  'learning (enums: true)': learning(true),
  'learning (enums: false)': learning(false),
  'JSON.parse, for comparison': (at: number): unknown => JSON.parse(texts[at % texts.length] ?? ''),
}

const rounds = 7
console.log(`a body of ${Math.round(bytes)} bytes, median of ${rounds} rounds by turns, µs of CPU a message`)
for (const { name, median } of measureByTurns(pieces, { rounds, runs: 20_000 }))
  console.log(`${name.padEnd(30)} ${median.toFixed(1)}`)
