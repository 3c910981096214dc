import { describe, expect, test } from 'vitest'
import { selectingKey, selectVariant, varyNames } from '../../../../src/features/cache/policy/stored-head.ts'
import { pairWith } from '../../../helpers/table.ts'
import { at, createRequest, createStoredHead } from './helper.ts'

test.each<[names: unknown, lines: readonly (readonly string[])[]]>([
  [[], [[], ['']]],
  [['accept'], [['Accept']]],
  [['accept', 'x-a', 'x-b'], [['X-B, accept ,X-A', 'ACCEPT']]],
  ['*', [['*'], ['Accept', '*'], ['Accept Language'], ['"Accept"']]],
  ['*', [[Array.from({ length: 33 }, (_, nth) => `x-${nth}`).join()]]],
])('by %j varies what has the lines of Vary %j', (names, lines) => {
  const toNames = (values: readonly string[]) =>
    varyNames(values.flatMap((value, nth) => [nth % 2 === 0 ? 'Vary' : 'vary', value]))

  expect(pairWith(lines, toNames)).toEqual(pairWith(lines, () => names))
})

const matches = (name: string, one: readonly string[], other: readonly string[]): boolean =>
  selectingKey([name], createRequest(one)) === selectingKey([name], createRequest(other))

describe('two requests match', () => {
  test.each([
    ['x', [], []],
    ['x', ['X', 'a'], ['x', ' a ']],
    ['x', ['X', 'a', 'X', 'b'], ['X', 'a, b']],
    ['accept-encoding', ['Accept-Encoding', 'gzip, br'], ['Accept-Encoding', 'BR,gzip']],
    ['accept-encoding', ['Accept-Encoding', 'gzip;q=0.5'], ['Accept-Encoding', 'gzip ; q=0.5,']],
    ['accept-language', ['Accept-Language', 'de, en;q=0.8'], ['Accept-Language', 'DE,en; q=0.8']],
    ['accept', ['Accept', 'Text/HTML, */*'], ['Accept', 'text/html,*/*']],
    ['constructor', [], []],
  ])('by %s: %j and %j', (name, one, other) => {
    expect(matches(name, one, other)).toBe(true)
  })

  test.each([
    ['x', [], ['X', '']],
    ['x', ['X', 'a'], ['X', 'A']],
    ['x', ['X', 'a,b'], ['X', 'a, b']],
    ['x', ['X', 'a', 'X', 'b'], ['X', 'b', 'X', 'a']],
    ['accept-encoding', ['Accept-Encoding', 'gzip'], []],
    ['accept-encoding', ['Accept-Encoding', 'gzip'], ['Accept-Encoding', 'gzip, br']],
    ['accept-language', ['Accept-Language', 'de, en'], ['Accept-Language', 'en, de']],
    ['accept', ['Accept', 'a/b;v="X, Y"'], ['Accept', 'a/b;v="X,Y"']],
    ['accept', ['Accept', 'a/b;v="x ; y"'], ['Accept', 'a/b;v="x;y"']],
    ['accept', ['Accept', 'a/b;v=X'], ['Accept', 'a/b;v=x']],
    ['constructor', ['Constructor', 'x'], []],
  ])('not by %s: %j and %j', (name, one, other) => {
    expect(matches(name, one, other)).toBe(false)
  })
})

test('two requests still match after many different ones', () => {
  const one = createRequest(['Accept-Encoding', 'gzip, br'])
  const before = selectingKey(['accept-encoding'], one)
  for (let i = 0; i < 1000; i++) selectingKey(['accept-encoding'], createRequest(['Accept-Encoding', `x-${i}`]))

  expect(selectingKey(['accept-encoding'], one)).toBe(before)
  expect(before).toBe('accept-encoding:br,gzip\n')
})

test('names and values are not confused', () => {
  const one = selectingKey(['a', 'b'], createRequest(['A', 'x']))
  const other = selectingKey(['a', 'b'], createRequest(['A', 'x\nb']))

  expect(one).toBe('a:x\nb\n')
  expect(other).not.toBe(one)
})

test('Host is the authority of the request, and no names always match', () => {
  expect([selectingKey(['host'], createRequest([])), selectingKey([], createRequest(['X', 'a']))]).toEqual([
    'host:gateway\n',
    '',
  ])
})

describe('of several variants', () => {
  const variant = (vary: string, request: string[], date: number) => ({
    head: createStoredHead(['Cache-Control', 'max-age=99', 'ETag', '"a"', 'Date', at(date), 'Vary', vary], { request }),
  })
  const german = variant('Accept-Language', ['Accept-Language', 'de'], 0)
  const english = variant('Accept-Language', ['Accept-Language', 'en'], 0)

  test('the matching one is selected', () => {
    expect(selectVariant([german, english], createRequest(['Accept-Language', 'en']))).toBe(english)
    expect(selectVariant([german, english], createRequest(['accept-language', 'DE']))).toBe(german)
  })

  test('none is, where none matches', () => {
    expect(selectVariant([german, english], createRequest([]))).toBeNull()
    expect(selectVariant([], createRequest([]))).toBeNull()
  })

  test('the latest is, where several match', () => {
    const earlier = variant('X', [], -2)
    const later = variant('Y', [], -1)

    expect(selectVariant([later, earlier], createRequest([]))).toBe(later)
    expect(selectVariant([earlier, later], createRequest([]))).toBe(later)
  })

  test('one without Vary is not, where another matches: even if it is later', () => {
    const careful = variant('X', [], -2)
    const forgetful = variant('', [], -1)

    expect(selectVariant([forgetful, careful], createRequest([]))).toBe(careful)
    expect(selectVariant([careful, forgetful], createRequest([]))).toBe(careful)
    expect(selectVariant([careful, forgetful], createRequest(['X', 'a']))).toBe(forgetful)
  })
})
