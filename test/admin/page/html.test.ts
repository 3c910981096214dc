import { expect, test } from 'vitest'
import { Html, html } from '../../../src/admin/page/html.ts'
import { layout } from '../../../src/admin/page/layout.ts'

const hostile = `</title><script>alert(1)</script>" onfocus='a' &amp;`

test('a value is text, whatever it looks like', () => {
  const page = html`<a title="${hostile}">${hostile}</a>`.toString()

  expect(page).not.toMatch(/<script|" onfocus|'a'|&amp;/)
  expect(page.match(/</g)).toHaveLength(2)
})

test('markup stands as it is, a list one behind the other, and nothing is nothing', () => {
  const rows = ['a', '<b>'].map((each) => html`<li>${each}</li>`)

  expect(html`${null}${undefined}${false}${0}<ul>${rows}</ul>`.toString()).toBe(
    '0<ul><li>a</li><li>&#60;b&#62;</li></ul>',
  )
})

test('what only looks like markup is none', () => {
  const told = JSON.parse('{"text":"<b>"}') as Html

  expect(told instanceof Html).toBe(false)
  expect(() => html`${told}`).toThrow()
})

test('a title is text as well', () => {
  expect(layout({ title: hostile, body: '' }).toString()).not.toContain('<script')
})
