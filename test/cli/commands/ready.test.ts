import { describe, expect, test } from 'vitest'
import { makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin } from '../scripted-admin.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('status --ready over TLS', () => {
  const { expired } = makeCertificates(openssl.path ?? '')
  const ask = async (tls: string, others: Readonly<Record<string, string>> = {}) => {
    const admin = await scriptedAdmin(jsonResponse({ ready: true }), expired)
    const file = configFileWith(`admin: { port: ${admin.port}, tls: ${tls} }`, others)
    return runCommand(['status', '--ready', '--config', file])
  }

  test('an expired certificate does not make a gateway unready', async () => {
    const pair = { 'a.pem': expired.cert, 'a.key': expired.key }

    expect(await ask('{ certificate: "file:a.pem", key: "file:a.key" }', pair)).toEqual({
      code: 0,
      out: 'ready\n',
      err: '',
    })
  })

  test('nor does one whose file is gone', async () => {
    expect(await ask('{ certificate: "file:a.pem", key: "file:a.key" }')).toEqual({ code: 0, out: 'ready\n', err: '' })
  })
})
