import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Html, html } from '../../../../src/core/admin/html.ts'
import { renderLayout } from '../../../../src/features/console/page/page-response.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

test('markup stands as it is, a list one behind the other, and nothing is nothing', () => {
  const rows = ['a', '<b>'].map((each) => html`<li>${each}</li>`)

  expect(html`${null}${undefined}${false}${0}<ul>${rows}</ul>`.toString()).toBe(
    '0<ul><li>a</li><li>&#60;b&#62;</li></ul>',
  )
})

test('what only looks like markup is none', () => {
  const parsed = JSON.parse('{"text":"<b>"}') as Html

  expect(parsed instanceof Html).toBe(false)
  expect(() => html`${parsed}`).toThrow()
})

test('what is text is nothing but text, between tags and in an attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const written = html`<p title="${text}">${text}</p>`.toString()

      const [, attribute = '', between = ''] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(written) ?? []
      expect(written).toBe(`<p title="${attribute}">${between}</p>`)
      expect(between).not.toMatch(/[<>"']|&(?!#(38|60|62|34|39);)/)
    }),
  )
})

test('what turns text around, or is half of a character, is shown as what cannot be shown', () => {
  expect(html`${'a\u202eb\0c\ud800d\u200fe\u061cf\u2028g\n'}`.toString()).toBe(
    'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\n',
  )
})

test('a page has its title, its style, a way past the head and what it is about', () => {
  const page = renderLayout({ title: 'Log in <', body: html`<h1>Log in</h1>` }).toString()

  expect(page).toContain('<title>Log in &#60; · lender gateway</title>')
  expect(page).toMatch(/<link rel="stylesheet" href="\/assets\/[0-9a-f]{16}\/page.css">/)
  expect(page).toContain('<a class="skip" href="#main">')
  expect(page).toContain('<h1>Log in</h1>\n</main>')
})

test('every attribute of a template is quoted, and none is a style or a handler', () => {
  const folder = new URL('../../../../src/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const templates = files.flatMap((name) => readFileSync(new URL(name, folder), 'utf8').match(/html`[^`]*`/g) ?? [])

  const tags = templates.flatMap((text) => text.replaceAll(/"[^"]*"/g, '""').match(/<[a-z][^>]*>/g) ?? [])
  expect(tags.length).toBeGreaterThan(10)
  expect(tags.filter((tag) => /=(?!"")/.test(tag))).toEqual([])
  expect(tags.filter((tag) => /\s(style|on[a-z]+)=/.test(tag))).toEqual([])
})
