import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestWithFields } from '../../../helpers/token-binding.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')

/** Boots a gateway, applies one edit after the other, and rolls the last one back. */
const rolledBack = async (...edits: readonly ((folder: string) => Settings)[]) => {
  const live = await bootLiveGateway()
  for (const edit of edits) {
    live.edit(edit(live.folder))
    expect(await live.gateway.reload('request')).toMatchObject({ result: 'applied' })
  }
  expect((await fetchAdmin(`${live.admin}/rollback`, 'POST')).body).toMatchObject({ result: 'applied' })
  return live
}

// The attack: an attacker who has stolen a key of the issuer waits until an operator rolls back a bad edit.
test('a rollback does not restore a key of the issuer that was removed from its file', async () => {
  const [good, stolen] = [signingKey('ES256', 'good'), signingKey('ES256', 'stolen')]
  const settings = (text: string, level: string) => (folder: string) => {
    writeFileSync(join(folder, 'keys.json'), text)
    return {
      auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: 'file:keys.json' } },
      clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
      log: { level },
    }
  }

  const live = await rolledBack(settings(jwks(good, stolen), 'info'), settings(jwks(good), 'debug'))
  const ask = (key: typeof good) =>
    requestWithFields(live.gateway.address.port, [`Authorization: Bearer ${signToken(key)}`])

  expect(live.gateway.config.log.level).toBe('info')
  expect([await ask(good), await ask(stolen)]).toEqual([200, 401])
})

test('but it does undo a mistake in where the keys are', async () => {
  const key = signingKey('ES256', 'good')
  const issuing = await httpUpstream((_, response) => response.end(jwks(key)))
  const settings = (url: string) => (): Settings => ({
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: url } },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
  })

  const { gateway } = await rolledBack(settings(issuing.url), settings('http://127.0.0.1:1/'))

  expect(await requestWithFields(gateway.address.port, [`Authorization: Bearer ${signToken(key)}`])).toBe(200)
})

// The attack: clients have begun to be known by names, from an authority; without it any client writes a name into a
// certificate of his own.
describe.skipIf(openssl.missing)('certificates behind a proxy', () => {
  test('a rollback does not trust a certificate only for the name of a client', async () => {
    const made = makeCertificates(openssl.path ?? '')
    const settings = (mtls: object, certificate: string, level: string) => (): Settings => ({
      listen: { trustedProxies: ['127.0.0.1'] },
      auth: { methods: ['mtls'], mtls: { from: 'client-cert', ...mtls } },
      clients: [{ id: 'bank-a', certificates: [certificate], operations: 'all' }],
      log: { level },
    })

    const { gateway } = await rolledBack(
      settings({}, `sha256:${certificateThumbprint(new X509Certificate(made.client.cert))}`, 'info'),
      settings({ ca: made.authority.cert }, 'dns:bank-a.example', 'debug'),
    )

    expect(await requestWithFields(gateway.address.port, [`Client-Cert: ${clientCertField(made.forgedA.cert)}`])).toBe(
      401,
    )
    expect(await requestWithFields(gateway.address.port, [`Client-Cert: ${clientCertField(made.bankA.cert)}`])).toBe(
      200,
    )
  })
})
