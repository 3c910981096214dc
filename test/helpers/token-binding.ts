import type { Settings } from './gateway.ts'
import { exchangeRaw, parseStatus } from './raw-client.ts'
import { audience, claims, issuer, jwks, type SigningKey, signToken } from './tokens.ts'

/** The origin under which clients know the gateway. */
export const publicUrl = 'https://gateway.example/base'
export const boundTargetUrl = `${publicUrl}/market/insights`

/** Writes what a gateway needs that takes bound tokens of `key` from bank-a; `auth` differs. */
export const tokenBindingSettings = (key: SigningKey, auth: object = {}): Settings => ({
  listen: { publicUrl },
  auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(key) }, dpop: {}, ...auth },
  clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
})

/** Makes a token that is bound as `cnf` says. */
export const boundToken = (key: SigningKey, cnf: object): string => signToken(key, claims({ cnf }))

/** Asks for one of the nine, on a connection of its own, and returns the status. */
export const requestWithFields = async (port: number, lines: readonly string[], method = 'GET'): Promise<number> => {
  const path = method === 'GET' ? '/market/insights' : '/valuation/score'
  const head = [`${method} ${path} HTTP/1.1`, 'Host: gateway', 'Content-Length: 0', 'Connection: close', ...lines]
  return Number(parseStatus(await exchangeRaw(port, `${head.join('\r\n')}\r\n\r\n`)))
}
