import {
  again,
  and,
  cc,
  confirmed,
  forwarded,
  freshFor,
  get,
  ok,
  requirements,
  reused,
  storesNot,
  validating,
} from '../script.ts'

/** RFC 9111 §4.2.3 and §5.1: the age of a response, and the Age that a client gets. */
export const age = requirements(9111)
const { must, should } = age

const aged = (seconds: number) => and(reused, { fields: { age: seconds } })

must('4', 'a response that is reused without validation has an Age', [get(cc('max-age=60')), again(aged(0))])
must('4', 'Age is the current age', [get(cc('max-age=60')), again(aged(25), { at: 25 })])
must('4', 'the Age that came is replaced, not joined', [get(cc('max-age=60', 'Age', '7')), again(aged(17), { at: 10 })])
must('4', 'there is one Age however it was spelled', [get(cc('max-age=60', 'AGE', '7')), again(aged(7))])
must('4.2.3', 'an Age that came makes the response older', freshFor(cc('max-age=60', 'Age', '20'), 40))
must('4.2.3', 'an Age as great as the lifetime makes it stale', storesNot(cc('max-age=60', 'Age', '60')))
must('4.2.3', 'an Age greater than the lifetime makes it stale', storesNot(cc('max-age=60', 'Age', '600')))
must('4.2.3', 'a Date in the past makes the response older', freshFor(cc('max-age=60', 'Date', '@now-20'), 40))
must('4.2.3', 'a Date in the past is in the Age that is sent', [
  get(cc('max-age=60', 'Date', '@now-20')),
  again(aged(25), { at: 5 }),
])
must('4.2.3', 'of Date and Age the greater age counts: Age', [
  get(cc('max-age=90', 'Date', '@now-10', 'Age', '30')),
  again(aged(30)),
])
must('4.2.3', 'of Date and Age the greater age counts: Date', [
  get(cc('max-age=90', 'Date', '@now-30', 'Age', '10')),
  again(aged(30)),
])
must('4.2.3', 'a Date in the future is no age', [get(cc('max-age=60', 'Date', '@now+1000')), again(aged(5), { at: 5 })])
must('4.2.3', 'the time that the response took is added to the Age that came', [
  get({ fields: ['Cache-Control', 'max-age=60', 'Age', '20'], takes: 10 }),
  again(aged(30)),
  again(aged(59), { at: 39 }),
  again({ asked: true }, { at: 40 }),
])
must('4.2.3', 'the time that the response took is its age where nothing else is known', [
  get({ fields: ['Cache-Control', 'max-age=60'], date: false, takes: 10 }),
  again(aged(10)),
])
must('4.2.3', 'the time that the response took counts beside a Date of its end', [
  get({ fields: ['Cache-Control', 'max-age=60', 'Date', '@now'], takes: 10 }),
  again(aged(10)),
])
must('4.2.3', 'a response that took longer than it is fresh is stale', [
  get({ fields: ['Cache-Control', 'max-age=5'], takes: 10 }),
  again({ asked: true }),
])
must(
  '4.2.3',
  'Expires and Age: what is left is the lifetime without the age',
  freshFor(ok('Expires', '@now+60', 'Age', '20'), 40),
)
must('4.2.3', 'a Date that is no date is no age', [
  get(cc('max-age=60', 'Date', 'yesterday')),
  again(aged(5), { at: 5 }),
])
must('1.2.2', 'an Age is never less than it was', [
  get(cc('max-age=60', 'Age', '5')),
  again(aged(6), { at: 1 }),
  again(aged(7), { at: 2 }),
])

should('5.1', 'of an Age that is a list the first member counts', [
  get(cc('max-age=60', 'Age', '7, 50')),
  again(aged(7)),
])
should('5.1', 'of an Age in two lines the first counts', [
  get(cc('max-age=60', 'Age', '7', 'Age', '50')),
  again(aged(7)),
])
for (const value of ['x', '-5', '1.5', '', '5 6', '+5', '"5"', '0x5', '5s', 'abc, 50'])
  should('5.1', `an Age of ${JSON.stringify(value)} is ignored`, [get(cc('max-age=60', 'Age', value)), again(aged(0))])

must('4.2.3', 'a successful validation makes the response young again', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again(confirmed, { at: 20 }),
  again(aged(5), { at: 25 }),
])
must('4.2.3', 'after a validation the Age of the 304 counts', [
  get(validating(cc('max-age=60', 'ETag', '"a"', 'Age', '50'))),
  get(validating(cc('max-age=60', 'ETag', '"a"', 'Age', '30')), confirmed, { at: 20 }),
  again(aged(35), { at: 25 }),
])
must('5.1', 'a response that comes from the origin now says nothing of an age in the cache', [
  get(cc('max-age=60'), and(forwarded, { fields: { age: null } })),
])
