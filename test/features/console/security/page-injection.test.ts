import { describe, expect, test } from 'vitest'
import { visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: a link to a page of an action says markup where it should say a name, and the page runs it; or a file, an
// endpoint, an edit does.
const markup = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
const encoded = encodeURIComponent(markup)

/** Returns whether a page holds something that it was not made with. */
const isInjected = (text: string): boolean => /<(?:script|img)|"><\w|<[^>]*onerror/i.test(text)

describe('what a link says is text, wherever the page shows it', () => {
  test.each([
    `reload?force=${encoded}`,
    `reload?${encoded}=1`,
    `rollback?${encoded}`,
    `drain?group=${encoded}&url=x`,
    `drain?group=market&url=${encoded}`,
    `drain?group=market&url=sandbox&ttl=${encoded}`,
    `ready?group=market&url=sandbox&ttl=${encoded}`,
    `ready?${encoded}=${encoded}`,
    `refuse?operation=${encoded}`,
    `refuse?operation=market.insights&ttl=${encoded}`,
    `serve?operation=market.insights&ttl=${encoded}`,
    `clear-cache?operation=${encoded}`,
  ])('%s', async (target) => {
    const live = await bootLiveGateway()

    const page = await visitPage(`${live.admin}/actions/${target}`)

    expect(page.status).toBe(400)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(isInjected(page.text)).toBe(false)
  })
})

test('what goes along with a valid command is text as well', async () => {
  const { admin } = await bootLiveGateway()

  const page = await visitPage(`${admin}/actions/refuse?operation=market.insights&ttl=15m%22%3E`)

  expect(page.status).toBe(400)
  expect(isInjected(page.text)).toBe(false)
})

test('what stands in the file is text: a problem quotes it', async () => {
  const live = await bootLiveGateway()
  live.edit(`upstreams:\n  ${JSON.stringify(markup)}: sandbox\n`)
  const form = await visitPage(`${live.admin}/actions/reload`)
  const [, formToken = ''] = /name="formToken" value="([^"]*)"/.exec(form.text) ?? []

  const response = await fetch(`${live.admin}/actions/reload`, {
    method: 'POST',
    headers: { accept: 'text/html' },
    body: new URLSearchParams({ formToken }),
  })

  const text = await response.text()
  expect(response.status).toBe(422)
  expect(text).toContain('&#60;script&#62;')
  expect(isInjected(text)).toBe(false)
})
