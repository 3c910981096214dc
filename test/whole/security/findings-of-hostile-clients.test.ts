import { expect, test } from 'vitest'
import type { FindingView } from '../../../src/core/admin/findings/finding.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { exchangeRaw } from '../../helpers/raw-client.ts'
import { audience, issuer, jwks, signingKey } from '../../helpers/tokens.ts'

const marker = 'h0stile'

// The attack: a client that could write on the operator's page could make an operator do something. A sentence there
// holds nothing that a client has written.
test('what clients send does not stand in a finding, and no number of them makes more of them', async () => {
  const key = signingKey('ES256', 'elliptic')
  const live = await bootLiveGateway({
    listen: { trustedProxies: ['127.0.0.1'] },
    auth: { methods: ['jwt', 'apiKey'], jwt: { issuer, audience: [audience], jwks: jwks(key) } },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
    operations: { 'inventory.sync': { auth: 'none', maxBody: '10B' } },
  })
  const port = Number(new URL(live.url).port)
  const head = (line: string, ...fields: readonly string[]): string =>
    [line, 'Host: gateway', 'Connection: close', ...fields, '', ''].join('\r\n')
  const wave = async (nth: number): Promise<void> => {
    const text = `${marker}${nth}`
    for (const bytes of [
      head(`GET /${text}?${text}=${text} HTTP/1.1`),
      head(`${text.toUpperCase()} /market/insights HTTP/1.1`),
      head(`DELETE /market/insights?${text} HTTP/1.1`),
      head(`GET /market/insights HTTP/1.1`, `${text} : ${text}`),
      head(`GET /market/insights HTTP/1.1`, `Authorization: Bearer ${text}.${text}.${text}`),
      head(`GET /market/insights HTTP/1.1`, `X-Api-Key: ${text}.${'A'.repeat(43)}`),
      head(`GET /market/insights HTTP/1.1`, `X-Forwarded-For: <b>${text}</b>`, `X-Request-Id: ${text}`),
      head(`POST /inventory/sync HTTP/1.1`, `Content-Length: ${text.length * 9}`) + text.repeat(9),
      head(`GET /market/insights HTTP/1.1`, `Expect: ${text}`),
    ])
      await exchangeRaw(port, bytes)
  }
  const read = async () => {
    const status = await (await fetch(`${live.admin}/status`)).text()
    const { findings } = JSON.parse(status) as { readonly findings: readonly FindingView[] }
    return { status, findings: findings.filter(({ about }) => about !== 'process') }
  }

  for (let nth = 0; nth < 12; nth++) await wave(nth)
  const { status, findings } = await read()
  for (let nth = 12; nth < 18; nth++) await wave(nth)
  const later = await read()

  expect(findings.length).toBeGreaterThanOrEqual(7)
  expect(status.toLowerCase() + later.status.toLowerCase()).not.toContain(marker)
  expect(later.findings.length).toBe(findings.length)
})
