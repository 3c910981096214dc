import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRequestTarget } from '../../../../src/core/downstream/request/validate-request.ts'

describe('a target in origin-form', () => {
  test.each([
    ['/', '/', ''],
    ['/a/b', '/a/b', ''],
    ['/a?', '/a', '?'],
    ['/a?b?c', '/a', '?b?c'],
    ['//a/b', '//a/b', ''],
    ['/%2f%00', '/%2f%00', ''],
    ['/http://a/b', '/http://a/b', ''],
    ['/a@b:80', '/a@b:80', ''],
  ])('%s is split at the first question mark and nowhere else', (raw, path, query) => {
    expect(parseRequestTarget(raw)).toEqual({ path, query, authority: null })
  })

  test('keeps every byte of the client', () => {
    const text = fc.string({ unit: 'binary-ascii' }).filter((each) => !each.includes('#'))
    fc.assert(
      fc.property(text, (rest) => {
        const target = parseRequestTarget(`/${rest}`)

        expect(target && target.path + target.query).toBe(`/${rest}`)
        expect(target?.path).not.toContain('?')
        expect(target?.authority).toBeNull()
      }),
    )
  })
})

describe('a target in absolute-form', () => {
  test.each([
    ['http://a/b?c', '/b', '?c', 'a'],
    ['https://a:443/b', '/b', '', 'a:443'],
    ['HTTP://A/B', '/B', '', 'A'],
    ['http://a', '', '', 'a'],
    ['http://a?b', '', '?b', 'a'],
    ['http://a?b/c', '', '?b/c', 'a'],
    ['http://[::1]:80/b', '/b', '', '[::1]:80'],
    ['http://a//b', '//b', '', 'a'],
    ['http://a/@/b', '/@/b', '', 'a'],
  ])('%s names its authority', (raw, path, query, authority) => {
    expect(parseRequestTarget(raw)).toEqual({ path, query, authority })
  })

  test.each([
    'http://',
    'http:///b',
    'http://:80/b',
    'http://u@a/b',
    'http://u:p@a/b',
    'http://a:99999/b',
    'http://a:x/b',
    'http://[::1/b',
    'http://a,b/c',
    'http://a b/c',
    'http://a\\b/c',
    'http://a\\@b/c',
  ])('%s has no valid authority and is none', (raw) => {
    expect(parseRequestTarget(raw)).toBeNull()
  })
})

describe('no target of http', () => {
  test.each([
    '',
    '*',
    'a',
    'a:80',
    '?a',
    '.',
    'ftp://a/b',
    'ws://a/b',
    'http:/a',
    'http:a',
    'xhttp://a/b',
    ' /a',
    '\\a',
    '%2fa',
  ])('is %j', (raw) => {
    expect(parseRequestTarget(raw)).toBeNull()
  })

  test('has a fragment, wherever it stands', () => {
    const around = fc.string({ unit: 'binary-ascii' })
    fc.assert(
      fc.property(fc.constantFrom('/', 'http://a/'), around, around, (start, a, b) => {
        expect(parseRequestTarget(`${start}${a}#${b}`)).toBeNull()
      }),
    )
  })
})
