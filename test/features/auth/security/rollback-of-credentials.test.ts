/** The attack: an attacker with a credential that was revoked waits until an operator rolls back a bad edit. */
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
import { needCertificates } from '../../../helpers/certificates.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { audience, issuer, jwks, signingKey } from '../../../helpers/tokens.ts'

const { made, missing } = await needCertificates()
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

const bankA = { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'a', sha256: 'ab'.repeat(32) }] }
const jwtOf = (text: string, more: Settings = {}) =>
  load({ auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: text } }, ...more })
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
const debug = { log: { level: 'debug' } }

describe('a rollback', () => {
  test('does not restore a client that was removed from an included file', async () => {
    const byKey = (more: Settings = {}) => load({ auth: { methods: ['apiKey'] }, clients: 'file:clients', ...more })
    write('clients', JSON.stringify([bankA]))
    const before = byKey()
    write('clients', '[]')

    const config = await rolledBack(before, byKey(debug))

    expect([config.log.level, config.clients]).toEqual(['info', []])
  })

  test('does not restore a key of the issuer that was removed from its file', async () => {
    const [good, stolen] = [signingKey('ES256', 'good'), signingKey('ES256', 'stolen')]
    write('keys', jwks(good, stolen))
    const before = jwtOf('file:keys')
    write('keys', jwks(good))

    const config = await rolledBack(before, jwtOf('file:keys', debug))

    expect([config.log.level, config.auth?.jwt?.jwks]).toEqual(['info', { text: jwks(good) }])
  })

  test('undoes a mistake in where the keys are', async () => {
    const url = 'https://login.example/jwks'

    const config = await rolledBack(jwtOf(url), jwtOf('https://login.example/typo'))

    expect(config.auth?.jwt?.jwks).toEqual({ url })
  })
})

describe.skipIf(missing)('a rollback, of certificates,', () => {
  // The attack: clients are known by names since an authority was configured. Without it, any client writes a name into
  // its own certificate.
  test('does not trust one behind a proxy only for the name of a client', async () => {
    const settings = (mtls: object, certificate: string, more: Settings = {}) =>
      load({
        listen: { trustedProxies: ['127.0.0.1'] },
        auth: { methods: ['mtls'], mtls: { from: 'client-cert', ...mtls } },
        clients: [{ id: 'bank-a', certificates: [certificate], operations: 'all' }],
        ...more,
      })
    const fingerprint = certificateThumbprint(new X509Certificate(made.client.cert))
    const after = settings({ ca: made.authority.cert }, 'dns:bank-a.example', debug)

    const config = await rolledBack(settings({}, `sha256:${fingerprint}`), after)

    expect(config.log.level).toBe('info')
    expect([config.auth, config.clients]).toEqual([after.config.auth, after.config.clients])
  })

  // The attack: a client is revoked in an edit with another mistake, and a rollback in a hurry would let the client in
  // again.
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
  const keyed = (kid: string) => ({
    methods: ['apiKey', 'jwt'],
    jwt: { issuer, audience: ['a'], jwks: jwks(signingKey('ES256', kid)), algorithms: ['ES256'] },
  })
  const files: readonly Settings[] = [
    {},
    { listen: { maxTarget: '4KiB' }, admin: { token: 'one-token-of-operators' } },
    { admin: { token: 'two-tokens-of-operators', metricsToken: 'one-token-of-operators' } },
    { auth: { methods: ['apiKey'] }, clients: [bankA] },
    { auth: keyed('a'), clients: [{ ...bankA, disabled: true }] },
    { auth: { ...keyed('b'), credentials: 'forward' }, clients: [] },
  ]
  const reported = files.map((file) => load(file).config).map((config) => ({ config, report: reportConfig(config) }))

  for (const now of reported)
    for (const then of reported) {
      const { config, report: shown } = withCurrentCredentials(now, then)

      expect(shown).toEqual(reportConfig(config))
      expect(Object.keys(shown.config)).toEqual(Object.keys(reportConfig(config).config))
    }
})
