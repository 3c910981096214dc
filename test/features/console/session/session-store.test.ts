import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { listOperatorTokens, type OperatorToken } from '../../../../src/core/admin/access/operator-tokens.ts'
import type { AdminConfig } from '../../../../src/core/config/config.ts'
import {
  createSessionStore,
  formatSessionCookie,
  parseSessionCookie,
} from '../../../../src/features/console/session/session-store.ts'
import { tokenEntry } from '../../../helpers/admin-tokens.ts'

const withToken = (token: string): AdminConfig => ({
  ...{ host: '127.0.0.1', port: 9901, hosts: [], metricsToken: null, tokens: [], jwt: null, tls: null },
  ...{ insecure: false, token },
})
const admin = withToken('a-token-of-an-operator')
const [token] = listOperatorTokens(admin) as readonly [OperatorToken]
const host = 'localhost:9901'

const both = { ...admin, tokens: [tokenEntry('auditor', 'a-token-of-an-auditor', 'read')] }
const [onCall, auditor] = listOperatorTokens(both) as readonly [OperatorToken, OperatorToken]

const headersWith = (id: string) => ({ host, cookie: formatSessionCookie({ host }, id, 1000).split(';')[0] ?? '' })

let sessions = createSessionStore()
beforeEach(() => {
  vi.useFakeTimers()
  sessions = createSessionStore()
})
afterEach(() => void vi.useRealTimers())

describe('a session', () => {
  test('lasts half an hour, whatever is done in it', () => {
    const { id, principal } = sessions.open(token)

    for (let minute = 0; minute < 30; minute++) {
      expect(sessions.find(headersWith(id), admin)).toBe(principal)
      vi.advanceTimersByTime(60_000)
    }

    expect(sessions.find(headersWith(id), admin)).toBeNull()
  })

  test('ends when the token is another, does not come back with the old one, and is none with one just removed', () => {
    const next = withToken('another-token-of-operators')
    const { id } = sessions.open(token)

    sessions.sync(next)
    const late = sessions.open(token)
    expect(sessions.find(headersWith(late.id), next)).toBeNull()
    sessions.sync(admin)

    expect(sessions.find(headersWith(id), admin)).toBeNull()
  })

  test('is one of 64 at most: the oldest makes room', () => {
    const opened = Array.from({ length: 65 }, () => sessions.open(token))

    const alive = opened.map(({ id, principal }) => sessions.find(headersWith(id), admin) === principal)

    expect(alive).toEqual(opened.map((_, i) => i > 0))
  })

  test('makes room for none of another operator, who has fewer', () => {
    const kept = sessions.open(onCall)

    const opened = Array.from({ length: 100 }, () => sessions.open(auditor))

    expect(sessions.find(headersWith(kept.id), both)).toBe(kept.principal)
    const alive = opened.filter(({ id }) => sessions.find(headersWith(id), both) !== null)
    expect(alive).toEqual(opened.slice(-63))
  })

  test('that has expired makes room first', () => {
    Array.from({ length: 31 }, () => sessions.open(onCall))
    vi.advanceTimersByTime(29 * 60_000)
    const opened = Array.from({ length: 33 }, () => sessions.open(auditor))
    vi.advanceTimersByTime(60_000)

    sessions.open(onCall)

    expect(opened.every(({ id }) => sessions.find(headersWith(id), both) !== null)).toBe(true)
  })

  test('is found by its cookie alone: not by its name, nor by what is kept of it', () => {
    const { principal } = sessions.open(token)

    expect(sessions.find(headersWith(principal.session ?? ''), admin)).toBeNull()
    expect(sessions.find(headersWith(principal.csrfToken), admin)).toBeNull()
  })

  test('has 256 bits at random in its cookie', () => {
    const ids = Array.from({ length: 50 }, () => sessions.open(token).id)

    expect(new Set(ids).size).toBe(50)
    expect(ids.every((id) => Buffer.from(id, 'base64url').length === 32)).toBe(true)
  })
})

describe('the cookie', () => {
  test.each([
    ['that is the only one of its name', '__Host-lender-gateway-9901=a', 'a'],
    ['among others', 'x=1; __Host-lender-gateway-9901=a; y=2', 'a'],
    ['that is there twice', '__Host-lender-gateway-9901=a; __Host-lender-gateway-9901=b', null],
    ['of another gateway at the same host', '__Host-lender-gateway-9902=a', null],
    ['that another host could have set', 'lender-gateway-9901=a', null],
  ])('%s', (_, cookie, expected) => {
    expect(parseSessionCookie({ host, cookie })).toBe(expected)
  })

  test.each([
    ['gateway.internal', '__Host-lender-gateway='],
    ['[::1]:9901', '__Host-lender-gateway-9901='],
    ['[::1]', '__Host-lender-gateway='],
  ])('for %s is called %s, and kept for the last second of a session as well', (name, start) => {
    expect(formatSessionCookie({ host: name }, 'a', 400)).toMatch(new RegExp(`^${start}.* Max-Age=1;`))
  })
})
