/**
 * A browser without scripts, as far as the pages of the operator's listener need one: forms, cookies and redirects,
 * over real sockets.
 */
import { expect } from 'vitest'

export const token = 'a-token-of-an-operator'

/** A response as a browser gets it; redirects are not followed. */
export interface PageResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where it leads; null: nowhere. */
  readonly location: string | null
}

type Fields = Readonly<Record<string, string>>

/** Goes to a page. */
export const visitPage = (url: string, headers: Fields = {}): Promise<PageResponse> =>
  fetchPage(url, { headers: { accept: 'text/html', ...headers } })

/** Sends a form. */
export const submitForm = (url: string, fields: Fields, headers: Fields = {}): Promise<PageResponse> =>
  fetchPage(url, { method: 'POST', headers: { accept: 'text/html', ...headers }, body: new URLSearchParams(fields) })

/** Reads what a form of the page holds in its hidden fields. */
export const hiddenFields = ({ text }: PageResponse): Fields =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)),
    ]),
  )

/** Logs in, and returns what the browser then sends along. */
export const logIn = async (admin: string, given = token): Promise<{ readonly cookie: string }> => {
  const page = await visitPage(`${admin}/login`)
  const response = await submitForm(`${admin}/login`, { ...hiddenFields(page), token: given })
  expect([response.status, response.location]).toEqual([303, '/login?done'])
  return { cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '' }
}

const fetchPage = async (url: string, init: RequestInit): Promise<PageResponse> => {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const { status, headers } = response
  return { status, headers, text: await response.text(), location: headers.get('location') }
}
