import { type Target, urlOf } from './target.ts'
import { tokenVariable } from './token.ts'
import { type Unasked, unasked } from './unasked.ts'

/** Says what to do about an answer that lets nobody in. */
export const refusal = (target: Target, path: string, status: number, body: unknown): Unasked => {
  const url = urlOf(target)
  const { token } = target
  if (status === 401) {
    if (token === null) return unasked(`${url} wants a token: set ${tokenVariable}${orFile(target)}`)
    const other = token.from.startsWith('admin.token') ? `: it may run with an older one; set ${tokenVariable}` : ''
    return unasked(`${url} refuses the token of ${token.from}${other}`)
  }
  const said = detail(body)
  if (status === 421) return unasked(`${url} does not answer to that name (421)${said}`)
  if (status === 404) return unasked(`${url} has no ${path} (404): is that the admin listener, and not the public one?`)
  if (status >= 300 && status < 400) return unasked(`${url} sends elsewhere (${status}), and is not followed`)
  return unasked(`${url} ${status < 500 ? 'refuses' : 'fails at'} ${path} (${status})${said}`)
}

const orFile = ({ file }: Target): string => (file === null ? '' : `, or admin.token in ${file}`)

/** Quotes what a problem (RFC 9457) says of itself. */
const detail = (body: unknown): string => {
  const said = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : undefined
  return typeof said === 'string' ? `: ${said.slice(0, 300)}` : ''
}
