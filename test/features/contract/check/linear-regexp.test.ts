import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLinearNatively, linearRegExp } from '../../../../src/features/contract/check/linear-regexp.ts'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'

const characters = [...'aAbBZ09_- \n\r\u2028\u00a0\ufeffé\u017f😀\u0085٣/$']

const atoms = String.raw`a A [Aa] b B [bB] 0 - / \/ . \. \s \S \d \D \w \W \n \t \cJ \x61 \u0062 \u{1F600} \uD83D\uDE00 😀 \p{L}
\P{L} \p{Lu} \p{Script=Greek} \p{Nd} [a-z] [^a-z] [\s\d] [^\S] [\w-] [a\-z] [\b] [^] [] [\u{61}-\u{7a}]
[\p{L}\d] [^\p{L}] \b \B ^ $ \$ \0 [.]`
const atom = fc.constantFrom(...atoms.split(/\s/))
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,}', '{0,3}', '{1,2}?')
const isAssertion = (text: string): boolean => ['\\b', '\\B', '^', '$'].includes(text)
const { pattern, lookaheads } = fc.letrec<{ pattern: string; piece: string; lookaheads: string }>((tie) => ({
  piece: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(atom, quantifier).map(([text, times]) => (isAssertion(text) ? text : text + times)),
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?<name>'), tie('pattern'), quantifier)
      .map(([open, inner, times]) => `${open}${inner.replaceAll('?<name>', '?:')})${times}`),
  ),
  pattern: fc
    .array(fc.array(tie('piece'), { maxLength: 4 }), { minLength: 1, maxLength: 2 })
    .map((alternatives) => alternatives.map((pieces) => pieces.join('')).join('|')),
  lookaheads: fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom('(?!', '(?='), fc.oneof(atom, tie('pattern'))), { minLength: 1, maxLength: 2 }),
      tie('pattern'),
    )
    .map(([ahead, rest]) => `^${ahead.map((each) => `${each.join('')})`).join('')}${rest}`),
}))
const text = fc.array(fc.constantFrom(...characters), { maxLength: 8 }).map((parts) => parts.join(''))

const isValid = (source: string): boolean => {
  try {
    return linearRegExp(source, null) !== null
  } catch {
    return false // a name that stands twice, or too many steps for each character
  }
}

/** Compiles a pattern as the gateway does, with steps for everything. */
const compile = (source: string) => {
  const steps = new StepBudget()
  steps.left = Number.MAX_SAFE_INTEGER
  const compiled = linearRegExp(source, steps)
  return {
    test: (text: string) => compiled.test(text),
    stepsFor(text: string): number {
      const { left } = steps
      compiled.test(text)
      return left - steps.left
    },
  }
}

describe('the translation', () => {
  test.each([
    ['', pattern],
    [', also where lookaheads stand at the start', lookaheads],
  ])('accepts the texts that JavaScript accepts%s', (_, sources) => {
    const seen = { true: 0, false: 0 }
    fc.assert(
      fc.property(sources.filter(isValid), fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
        const native = new RegExp(source, 'u')
        const translated = compile(source)
        for (const each of texts) {
          seen[`${native.test(each)}`]++
          expect([each, translated.test(each)]).toEqual([each, native.test(each)])
        }
      }),
      { numRuns: 50, seed: 20 },
    )
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(15)
  })

  // In patterns of UK Open Banking and the Berlin Group.
  test.each<[source: string, accepted: readonly string[], rejected: readonly string[]]>([
    ['^(?!\\s)(.*)(\\S)$', ['a', 'a b', '-'], ['', ' a', 'a ', '\u00a0a', '\na']],
    ['^(?!0)\\d+$', ['10'], ['01', '0', '', 'a']],
    ['^(?![)(|\\]])[^]*$', ['', 'a|'], ['|', ']', ')']],
    ['^(?!\\s*$).{1,5}$', ['a', ' a'], ['', '   ']],
    ['^(?=.*[A-Z])(?=.*\\d).{4,}$', ['aB3d'], ['ab3d', 'aBcd', 'B3']],
    ['^(?!a|b)c?', ['', 'c', 'xa'], ['a', 'b']],
    ['\\+[0-9]{1,3}\\-[0-9()+\\-]{1,30}', ['+44-1(2)-3'], ['+44 1', '44-1']],
    ['^(?:[A-Z0-9]{1,35} ?){1,4}$', ['ACME 24'], []],
    ['^\\@\\"\\ [\\:\\-a]$', ['@" :', '@" -', '@" a'], ['@" b', '@":']],
  ])('%s is accepted', (source, accepted, rejected) => {
    const { test } = compile(source)

    expect([accepted.filter((each) => !test(each)), rejected.filter(test)]).toEqual([[], []])
  })

  // Both are one character to RE2, and one of the two takes its other case as well.
  test.each([
    ['^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$', ['false', 'true', 'xalse', 'frue', 'TRUE', 'tRUE', 'FALSE']],
    ['^(?:TRUE|[Tt]rue)$', ['TRUE', 'tRUE', 'true']],
    ['^(?:TRUE|[Tt]rue)$', ['true', 'TRUE', 'tRUE']],
    ['[Aa]bA', ['xabA', 'Aba']],
  ])('%s accepts the same whatever came before: %j', (source, texts) => {
    const native = new RegExp(source, 'u')
    const translated = compile(source)

    expect(texts.map((each) => translated.test(each))).toEqual(texts.map((each) => native.test(each)))
  })

  const [behind, tooMany] = ['it looks ahead behind its start', 'it takes too many steps for each character']
  const anywhere = 'it looks ahead without ^ before it, so that the rest may match anywhere'
  const nested = 'it looks ahead before alternatives without a group, or in another lookahead'

  test.each([
    [anywhere, ['(?=a)', '(?!a)b']],
    [behind, ['a(?!b)', '^(?:(?!a)b)']],
    [nested, ['^(?!a)b|c', '^(?!(?=a)b)c']],
    ['Invalid escape', ['\\a']],
    ['it looks behind', ['(?<=a)b', '(?<!a)b']],
    ['it refers back to a group', ['(a)\\1', '(?<n>a)\\k<n>']],
    ['it switches flags', ['(?i:a)']],
    ['it repeats something more than 1000 times', ['a{1001}']],
    [tooMany, ['(?:[ab]{500}|a)[ab]{0,900}x$', '([ab]{1,30}){20}c', '^([ab]{10,})*[ab]{300}c']],
  ])('%s: %j are rejected', (reason, sources) => {
    for (const source of sources) expect(() => linearRegExp(source, null), source).toThrow(reason)
  })
})

test('JavaScript runs patterns with one way to match', () => {
  for (const simple of ['^[A-Z]{2}\\d{4}$', '^[A-Z]+$', '^a', '^\\d{4}-\\d{2}-\\d{2}$', '^[\\w.-]{1,64}$', '^$'])
    expect([simple, isLinearNatively(simple)]).toEqual([simple, true])
  for (const other of String.raw`a [a-z]+$ ^a+b ^(a+)+$ ^a*a*$ ^a+b+$ ^a|b ^(a)$ ^\1 ^a{2}{3} ^\b+$ ^a+?b`.split(' '))
    expect([other, isLinearNatively(other)]).toEqual([other, false])
})

test('a full automaton restarts, and matches as JavaScript does', () => {
  const source = 'a[ab]{80}c'
  const counted = compile(source)
  let seed = 1
  const drawn = Array.from({ length: 12_000 }, () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % 2 === 0 ? 'a' : 'b'
  }).join('')

  for (const each of [`c${drawn}`, `${drawn}a${'b'.repeat(80)}c`])
    expect([each, counted.test(each)]).toEqual([each, new RegExp(source, 'u').test(each)])
})

test('long texts of letters do not fill an automaton, which has one class for characters that are alike', () => {
  const counted = compile('^(?:[\\p{L} ]){1,900}$')
  const steps = ['aé', 'Ωж', 'åŁ', '中 ', 'aé'].map((each) => counted.stepsFor(each.repeat(450)))

  expect(Math.max(...steps)).toBeLessThan(1_000_000)
  expect(steps.at(-1)).toBeLessThan(15_000)
})

test('a text that the automaton knows takes few steps', () => {
  const counted = compile("^[a-z '-]{1,50}(?: [a-z '-]{1,50}){0,3}$")
  const [first, again] = [1, 2].map(() => counted.stepsFor('anna maria de la tour'))

  expect(first).toBeGreaterThan(5000)
  expect(again).toBeLessThan(300)
})

test('a pattern that JavaScript would try for hours takes no time', () => {
  const hostile = `${'a'.repeat(1 << 20)}!`

  for (const source of ['^(a+)+$', '^(a|a)*$', '^a*a*a*a*b$', '(.*)*x', '^[a]+$', '^.*.*.*=.*$'])
    expect([source, linearRegExp(source, null).test(hostile)]).toEqual([source, false])
})

// Of RE2, and of JavaScript.
test.each(['x|y', '^x+$'])('the pattern %s takes more steps, the longer the text is', (source) => {
  const steps = new StepBudget(5000)
  const pattern = linearRegExp(source, steps)
  pattern.test('x'.repeat(500))

  expect(steps.left).toBeLessThanOrEqual(4500)
  expect(() => pattern.test('x'.repeat(5000))).toThrow(TooManyStepsError)
})
