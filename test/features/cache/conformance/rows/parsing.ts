import { again, and, asking, cc, forwarded, freshFor, get, requirements, reused, stores, storesNot } from '../script.ts'

/**
 * RFC 9111 §5.2 and RFC 9110 §5: directives are compared by name, whatever their case, their order, their quotes and
 * their lines.
 */
export const parsing = requirements(9111)
export const lists = requirements(9110)
const { must, mustNot, should, may } = parsing

const forbidding = ['no-store', 'private', 'no-cache'] as const
for (const name of forbidding) {
  const capital = name.replace(/(^|-)(\w)/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
  for (const spelled of [name.toUpperCase(), capital])
    must('5.2', `${spelled} is ${name}`, storesNot(cc(`max-age=60, ${spelled}`)))
  must('5.2', `${name} before the others counts`, storesNot(cc(`${name}, max-age=60`)))
  must('5.2', `${name} without a blank after the comma counts`, storesNot(cc(`max-age=60,${name}`)))
  must('5.2', `${name} with blanks and tabs around counts`, storesNot(cc(`max-age=60 ,\t ${name}\t , x`)))
  lists.must('5.3', `${name} in the second line counts`, storesNot(cc('max-age=60', 'Cache-Control', name)))
  lists.must('5.3', `${name} in a first line counts`, storesNot(cc(name, 'Cache-Control', 'max-age=60')))
  lists.must('5.6.1', `${name} among empty members counts`, storesNot(cc(`,, ,${name},,max-age=60`)))
  must('5.2', `${name} after a quoted string with a comma counts`, storesNot(cc(`max-age=60, x="a, b", ${name}`)))
  must(
    '5.2',
    `${name} after a quoted string with an escaped quote counts`,
    storesNot(cc(`max-age=60, x="a\\"b", ${name}`)),
  )
  must(
    '5.2',
    `${name} after a quoted string that ends with a backslash counts`,
    storesNot(cc(`max-age=60, x="a\\\\", ${name}`)),
  )
  mustNot('5.2', `${name} within a quoted string is taken for a directive`, stores(cc(`max-age=60, x="a, ${name}, b"`)))
  mustNot(
    '5.2',
    `${name} after an escaped quote within a string is taken for a directive`,
    stores(cc(`max-age=60, x="a\\", ${name}"`)),
  )
  mustNot('5.2', `a directive that begins with ${name} is taken for it`, stores(cc(`max-age=60, ${name}x`)))
  mustNot('5.2', `a directive that ends with ${name} is taken for it`, stores(cc(`max-age=60, x-${name}`)))
  mustNot('5.2', `${name} as an argument is taken for a directive`, stores(cc(`max-age=60, x=${name}`)))
}
must('5.2', 'Max-Age is max-age', freshFor(cc('Max-Age=60'), 60))
must('5.2', 'S-MAXAGE is s-maxage', freshFor(cc('max-age=5, S-MAXAGE=60'), 60))
must(
  '5.2',
  'the name of the field is compared whatever its case',
  freshFor({ fields: ['cAcHe-CoNtRoL', 'max-age=60'] }, 60),
)
must('5.2', 'the name expires is compared whatever its case', freshFor({ fields: ['EXPIRES', '@now+60'] }, 60))
mustNot('5.2', 'a max-age within a quoted string makes anything fresh', storesNot(cc('x="a, max-age=60"')))
mustNot('5.2', 'a max-age within a quoted string makes a shorter one longer', [
  get(cc('max-age=1, x="a, max-age=3600"')),
  again(forwarded, { at: 5 }),
])
may('5.2', 'a quoted pair in a number is the digit', [
  get(cc('max-age="6\\0"')),
  again({ either: [reused, forwarded] }, { at: 30 }),
  again(forwarded, { at: 61 }),
])
must('5.2.3', 'a directive that is unknown is ignored', stores(cc('max-age=60, x-own=1, y="2, 3", z')))
must('5.2.3', 'no-transform and immutable do not hinder', stores(cc('max-age=60, immutable, no-transform')))
should('4.2.1', 'no-store with an argument counts all the same', storesNot(cc('max-age=60, no-store=x')))
should('4.2.1', 'public with an argument harms nothing', stores(cc('public=x, max-age=60')))
may('5.2', 'a directive parted by a semicolon is none', [get(cc('max-age=60; no-store')), again(forwarded)])
must('5.2', 'an empty Cache-Control says nothing', storesNot(cc('')))
must('5.2', 'an empty Cache-Control beside Expires says nothing', stores(cc('', 'Expires', '@now+60')))
lists.must(
  '5.5',
  'blanks around a value are not part of it',
  freshFor({ fields: ['Cache-Control', '  max-age=60  '] }, 60),
)
lists.must('5.2', 'names that only look like others are others', stores(cc('max-age=60', 'Cache_Control', 'no-store')))
must('5.2', 'CDN-Cache-Control is another field', [
  get(cc('max-age=60', 'Surrogate-Control', 'no-store')),
  again(and(reused, { fields: { 'surrogate-control': 'no-store' } })),
])
mustNot('5.2', 'a request’s directive within a quoted string counts', [
  get(cc('max-age=60')),
  again(reused, asking('Cache-Control', 'x="a, no-cache"')),
])
