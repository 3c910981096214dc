import { expect, test } from 'vitest'
import { shareLiveGateway } from '../../../helpers/live-gateway.ts'

const { admin } = await shareLiveGateway({ admin: { token: 'a-token-of-an-operator' } })
const headers = { Authorization: 'Bearer a-token-of-an-operator' }
const page = await (await fetch(`${admin}/`, { headers })).text()
const paths = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]*)"/g)].map(([, path = '']) => path)

test('all that the page loads is there without a token, is what it is called, and may be kept for ever', async () => {
  const responses = await Promise.all(paths.map((path) => fetch(`${admin}${path}`)))

  const types = responses.map(({ headers }) => headers.get('content-type')?.split(';')[0])
  expect(types).toEqual(['text/css', 'text/css', 'text/javascript', 'text/javascript', 'text/javascript'])
  for (const { status, headers } of responses) {
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      ...{ 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' },
      'cross-origin-resource-policy': 'same-origin',
    })
  }
})

test('the modules that a module of the page imports are beside it', async () => {
  const [main = ''] = paths.filter((path) => path.endsWith('/page.js'))
  const imports = [...(await (await fetch(`${admin}${main}`)).text()).matchAll(/from '\.\/([^']*)'/g)]

  const urls = imports.map(([, name]) => `${admin}${main.replace('page.js', name ?? '')}`)
  const responses = await Promise.all(urls.map((url) => fetch(url)))

  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test('a browser that has an asset gets 304; a page of another version gets what there is, and does not keep it', async () => {
  const [css = ''] = paths
  const tag = (await fetch(`${admin}${css}`)).headers.get('etag') ?? ''

  const again = await fetch(`${admin}${css}`, { headers: { 'If-None-Match': tag } })
  const other = await fetch(`${admin}/assets/0123456789abcdef/page.css`)

  expect(again.status).toBe(304)
  expect([other.status, other.headers.get('cache-control')]).toEqual([200, 'no-cache'])
})

test.each(['/assets/x/gateway.yaml', '/assets/', '/assets/x/..%2fregister.ts', '/assets/x/constructor'])(
  'nothing else is served as one: %s',
  async (path) => {
    expect((await fetch(`${admin}${path}`)).status).toBe(404)
  },
)

test('the page may load what is its own, and nothing else; no site may frame or keep it', async () => {
  const { headers: fields } = await fetch(`${admin}/`, { headers })

  const policy = fields.get('content-security-policy') ?? ''
  expect(policy.split('; ').toSorted()).toEqual([
    ...["base-uri 'none'", "connect-src 'self'", "default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"],
    ...['img-src data:', "require-trusted-types-for 'script'", "script-src 'self'", "style-src 'self'"],
    'trusted-types sections',
  ])
  expect(Object.fromEntries(fields)).toMatchObject({
    ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    'cross-origin-opener-policy': 'same-origin',
  })
})
