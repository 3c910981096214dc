import { serialize } from 'node:v8'
import { expect, test } from 'vitest'
import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { mergeLearned } from '../../../../src/features/contract-learning/learn/learned-contract.ts'
import { createLearner, type Learner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { allOperations, type OperationId } from '../../../../src/operations.ts'
import { secretEncodings } from '../../../helpers/secret-leaks.ts'
import { learnerOptions } from './learn-hidden-contract.ts'
import { type Observed, plantSecret, requestWith, responseWith } from './planted-secret.ts'

/** Secrets of several looks. The first three could be the name of a member, or a code. */
const words = 'hunter TOPSECRET correct-horse sk_live_9fK2mQ7xR4tV8bN1 jane@secret.example 4929123412341234'
const secrets = [...words.split(' '), 'Jane Doe']

const observe = (learner: Learner, { request, response }: Observed, id: OperationId = 'leads.pipeline'): void =>
  request !== undefined ? learner.observeRequest(id, request) : learner.observeResponse(id, response)

const usual = [requestWith({}), responseWith({})]

const observeAll = (learner: Learner, messages: readonly Observed[], times = 20): void => {
  for (let i = 0; i < times; i++) for (const each of messages) observe(learner, each)
}

/** Writes all that a learner knows, in each way in which it can get out. */
const textsOf = (learner: Learner): readonly string[] => {
  const merged = mergeLearned([learner.report, learner.report])
  const plain = (_: string, value: unknown) => (value instanceof Map ? [...value] : value)
  return [
    JSON.stringify(renderDraft(learner.report)),
    JSON.stringify(renderDraft(merged)),
    JSON.stringify(learner.report, plain),
    serialize(learner.report).toString('latin1'),
    serialize(merged).toString('latin1'),
  ]
}

const leaksOf = (learner: Learner, secret: string) => {
  const looks = [...secretEncodings(secret), secret.toLowerCase(), encodeURIComponent(secret)]
  const texts = textsOf(learner)
  // V8 writes a string with a character beyond latin1 as UTF-16.
  const bytes = serialize(learner.report)
  return [
    ...looks.filter((look) => texts.some((text) => text.includes(look))),
    ...looks.filter((look) => bytes.includes(Buffer.from(look, 'utf16le'))),
  ]
}

test.each(secrets.flatMap((secret) => [true, false].map((enums) => ({ secret, enums }))))(
  '$secret, planted once in each of fifty places, is nowhere in what was learned (enums: $enums)',
  ({ secret, enums }) => {
    const learner = createLearner({ ...learnerOptions, enums })
    for (const [at, planted] of plantSecret(secret).entries()) {
      const { id } = allOperations[at % allOperations.length] ?? allOperations[0]
      observe(learner, planted, id)
      for (let i = 0; i < 5; i++) for (const each of usual) observe(learner, each, id)
    }

    expect(leaksOf(learner, secret)).toEqual([])
    expect(textsOf(learner)[0]).toContain('applicant')
  },
)

test.each(secrets.slice(0, 3))('%s, in each member of a large map, is known from the third request on', (secret) => {
  const learner = createLearner(learnerOptions)
  const body = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`place${i}`, { [secret]: secret }]))
  const both = [requestWith({ body }), responseWith({ body })]

  observeAll(learner, both, 2)
  expect(leaksOf(learner, secret)).toEqual([])
  observeAll(learner, both, 1)
  expect(leaksOf(learner, secret)).not.toEqual([])
})

test.each(secrets)('%s, in all values of all requests, is nowhere without enums', (secret) => {
  const learner = createLearner({ ...learnerOptions, enums: false })
  const clean = plantSecret(secret).filter((each) => !isNameOf(secret, each))
  observeAll(learner, [...usual, ...clean])

  expect(leaksOf(learner, secret)).toEqual([])
  expect(clean.length).toBeGreaterThan(20)
})

test.each(secrets.slice(3))('%s looks like data, and is nowhere, however often it comes', (secret) => {
  const learner = createLearner(learnerOptions)
  observeAll(learner, [...usual, ...plantSecret(secret)])

  expect(leaksOf(learner, secret)).toEqual([])
})

test('a value that comes when enumerations are not learned any more is nowhere, and ends the enumeration', () => {
  const learner = createLearner({ ...learnerOptions, enums: true })
  const say = (status: string, times: number) => observeAll(learner, [requestWith({ body: { status } })], times)
  const draft = () => JSON.stringify(renderDraft(learner.report))
  for (const status of ['OPEN', 'CLOSED']) say(status, 30)

  learner.keepEnums(false)
  say('OPEN', 5)
  expect(draft()).toContain('"enum":["CLOSED","OPEN"]')
  say('TOPSECRET', 5)

  expect(draft()).not.toContain('"enum"')
  expect(leaksOf(learner, 'TOPSECRET')).toEqual([])
})

test('a field with credentials is never learned, not even by name', () => {
  const learner = createLearner({ ...learnerOptions, credentialFields: ['X-Partner'] })
  const names = 'Authorization Proxy-Authorization Cookie X-Api-Key X-Auth-Token X-Partner DPoP X-Ok'.split(' ')
  observeAll(learner, [requestWith({ fields: names.flatMap((name) => [name, 'secret']) })])

  expect([...(learner.report.operations.get('leads.pipeline')?.request.fields.named.keys() ?? [])]).toEqual(['x-ok'])
})

test('the key of the hashes is not in the report', () => {
  const learner = createLearner({ ...learnerOptions, key: 'key-of-hashes' })
  observeAll(learner, plantSecret('x'), 1)

  expect(leaksOf(learner, 'key-of-hashes')).toEqual([])
})

/** Tells whether a secret is part of a name, or stands where names do. */
const isNameOf = (secret: string, { request, response }: Observed): boolean => {
  const { body } = request ?? response
  const parts = [JSON.stringify(body ?? null), ...(request?.fields.filter((_, i) => i % 2 === 0) ?? [])]
  const type = (request ?? response).contentType?.split(';')[0] ?? ''
  return (
    [...parts.slice(1), type].some((part) => part.includes(secret)) ||
    parts[0]?.includes(`${JSON.stringify(secret)}:`) === true ||
    [...new URLSearchParams(request?.query).keys()].some((name) => name.includes(secret))
  )
}
