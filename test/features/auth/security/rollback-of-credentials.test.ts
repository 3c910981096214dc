/**
 * Rollbacks, and the credentials that changed since. The attack: an attacker who has stolen a credential that was taken
 * out meanwhile waits until an operator rolls back a bad edit.
 */
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import type { LoadedConfig } from '../../../../src/core/config/load/load.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { withCurrentCredentials } from '../../../../src/core/runtime/reload/rollback-target.ts'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { folderWith, parse } from '../../../core/config/helper.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { audience, issuer, jwks, signingKey } from '../../../helpers/tokens.ts'

const openssl = await needProgram('openssl')
const folder = folderWith({})

const load = (settings: Settings): LoadedConfig => {
  const loaded = parse(configText(settings), {}, join(folder, 'gateway.yaml'))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

/** Applies an edit, and rolls it back; returns what runs then. */
const rolledBack = async (initial: LoadedConfig, edit: LoadedConfig) => {
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial,
    load: async () => edit,
    preflight: async () => [],
    apply: async () => {},
    onOutcome: () => {},
  })
  expect(await reloader.reload('request')).toMatchObject({ result: 'applied' })
  expect(await reloader.rollback()).toMatchObject({ result: 'applied' })
  return reloader.running.config
}

const sha256 = 'ab'.repeat(32)
const bankA = { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'a', sha256 }] }
const byKey = (clients: NonNullable<Settings['clients']>, more: Settings = {}) =>
  load({ auth: { methods: ['apiKey'] }, clients, ...more })
const jwt = (text: string, more: Settings = {}) =>
  load({ auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: text } }, ...more })

describe('a rollback', () => {
  test('does not restore a client that was removed from an included file', async () => {
    const write = (...clients: readonly object[]): void =>
      writeFileSync(join(folder, 'clients.json'), JSON.stringify(clients))
    write(bankA)
    const before = byKey('file:clients.json')
    write()
    const after = byKey('file:clients.json', { log: { level: 'debug' } })

    const config = await rolledBack(before, after)

    expect([config.log.level, config.clients]).toEqual(['info', []])
  })

  test('does not restore a key of the issuer that was removed from its file', async () => {
    const [good, stolen] = [signingKey('ES256', 'good'), signingKey('ES256', 'stolen')]
    const write = (text: string): void => writeFileSync(join(folder, 'keys.json'), text)
    write(jwks(good, stolen))
    const before = jwt('file:keys.json')
    write(jwks(good))
    const after = jwt('file:keys.json', { log: { level: 'debug' } })

    const config = await rolledBack(before, after)

    expect([config.log.level, config.auth?.jwt?.jwks]).toEqual(['info', { text: jwks(good) }])
  })

  test('undoes a mistake in where the keys are', async () => {
    const url = 'https://login.example/jwks'

    const config = await rolledBack(jwt(url), jwt('https://login.example/typo'))

    expect(config.auth?.jwt?.jwks).toEqual({ url })
  })

  test('does not restore a token of an operator that was replaced', async () => {
    const [leaked, fresh] = ['a-token-that-has-leaked', 'a-token-that-replaced-it']

    const config = await rolledBack(
      load({ admin: { token: leaked }, log: { level: 'warn' } }),
      load({ admin: { token: fresh }, log: { level: 'debug' } }),
    )

    expect([config.log.level, config.admin.token]).toEqual(['warn', fresh])
  })
})

describe.skipIf(openssl.missing)('a rollback, of certificates,', () => {
  const made = makeCertificates(openssl.path ?? '')

  // The attack: clients have begun to be known by names, from an authority; without it any client writes a name into a
  // certificate of his own.
  test('does not trust one behind a proxy only for the name of a client', async () => {
    const settings = (mtls: object, certificate: string, level: string) =>
      load({
        listen: { trustedProxies: ['127.0.0.1'] },
        auth: { methods: ['mtls'], mtls: { from: 'client-cert', ...mtls } },
        clients: [{ id: 'bank-a', certificates: [certificate], operations: 'all' }],
        log: { level },
      })
    const fingerprint = certificateThumbprint(new X509Certificate(made.client.cert))
    const after = settings({ ca: made.authority.cert }, 'dns:bank-a.example', 'debug')

    const config = await rolledBack(settings({}, `sha256:${fingerprint}`, 'info'), after)

    expect(config.log.level).toBe('info')
    expect([config.auth, config.clients]).toEqual([after.config.auth, after.config.clients])
  })

  // The attack: a client is revoked, and the edit has a mistake elsewhere. An operator who rolls back in a hurry would
  // let the client in again.
  test('does not restore a client that was revoked, nor a certificate that was renewed', async () => {
    const settings = (list: string, { cert, key }: typeof made.right, maxHeaders: string) => {
      const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [list] }
      return load({ listen: { tls: { ...client, certificates: [{ certificate: cert, key }] }, maxHeaders } })
    }
    const after = settings(made.clientRevoked, made.renewed, '1KiB')

    const config = await rolledBack(settings(made.noneRevoked, made.right, '2KiB'), after)

    expect(config.listen.maxHeaders).toBe(2048)
    expect(config.listen.tls).toEqual(after.config.listen.tls)
  })
})

test('what is shown after a rollback is what then runs', () => {
  const keys = (kid: string) => ({
    issuer,
    audience: ['a'],
    jwks: jwks(signingKey('ES256', kid)),
    algorithms: ['ES256'],
  })
  const files: readonly Settings[] = [
    {},
    { listen: { maxTarget: '4KiB' }, admin: { token: 'one-token-of-operators' } },
    { admin: { token: 'two-tokens-of-operators', metricsToken: 'one-token-of-operators' } },
    { auth: { methods: ['apiKey'] }, clients: [bankA] },
    { auth: { methods: ['apiKey', 'jwt'], jwt: keys('a') }, clients: [{ ...bankA, disabled: true }] },
    { auth: { methods: ['apiKey', 'jwt'], jwt: keys('b'), credentials: 'forward' }, clients: [] },
  ]
  const reported = files.map((file) => load(file).config).map((config) => ({ config, report: reportConfig(config) }))

  for (const now of reported)
    for (const then of reported) {
      const { config, report: shown } = withCurrentCredentials(now, then)

      expect(shown).toEqual(reportConfig(config))
      expect(Object.keys(shown.config)).toEqual(Object.keys(reportConfig(config).config))
    }
})
