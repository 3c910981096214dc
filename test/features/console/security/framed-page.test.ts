import { expect, test } from 'vitest'
import { logIn, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

// The attack: a page of an action stands in a frame of another page, invisible, where the operator is made to click
// (clickjacking). Or a page, its form token among it, is kept by a cache, or sent to another site by a Referer.
test.each(['/login', '/actions/reload', '/actions/drain'])(
  '%s may not be framed, kept, or run anything',
  async (path) => {
    const { admin } = await bootLiveGateway({ admin: { token } })
    const session = path === '/login' ? {} : await logIn(admin)

    const { headers } = await visitPage(admin + path, session)

    const policy = (headers.get('content-security-policy') ?? '').split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(policy).toContain("base-uri 'none'")
    expect(policy.join()).not.toMatch(/script-src|unsafe|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('same-origin')
  },
)

test.each(['/status', '/config', '/configuration', '/', '/login', '/nowhere'])(
  '%s is stored by no cache, whatever its response',
  async (path) => {
    const { admin } = await bootLiveGateway({ admin: { token } })

    expect((await visitPage(admin + path)).headers.get('cache-control')).toBe('no-store')
    expect((await visitPage(admin + path, await logIn(admin))).headers.get('cache-control')).toBe('no-store')
  },
)
