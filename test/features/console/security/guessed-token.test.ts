import { expect, onTestFinished, test, vi } from 'vitest'
import { hiddenFields, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

// The attack: tokens are guessed by the form as fast as it responds, which may also keep operators out.
test('guesses are bounded, and the bearer is let in all the while', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const form = hiddenFields(await visitPage(`${live.admin}/login`))
  const guess = (given: string, accept = 'text/html') =>
    submitForm(`${live.admin}/login`, { ...form, token: given }, { accept })

  const guesses = await Promise.all(Array.from({ length: 30 }, (_, i) => guess(`guess-number-${i}-of-thirty`)))
  const right = await guess(token, 'application/json')
  const bearer = await fetchAdmin(`${live.admin}/status`, 'GET', { headers: { Authorization: `Bearer ${token}` } })

  const limited = guesses.filter(({ status }) => status === 429)
  expect([guesses.filter(({ status }) => status === 403).length, limited.length]).toEqual([5, 25])
  expect(limited.every(({ headers }) => headers.get('retry-after') === '1')).toBe(true)
  expect(limited[0]?.text).toContain('<p role="alert">Too many attempts: try again in a second.</p>')
  expect(right.status).toBe(429)
  expect(right.headers.get('content-type')).toBe('application/problem+json')
  expect(JSON.parse(right.text)).toMatchObject({ code: 'too-many-attempts' })
  expect(bearer.status).toBe(200)
})
