import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { showReady } from '../../../../src/core/cli/commands/ready.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { configFileWith, jsonResponse, rawServer, runCommand, scriptedAdmin } from '../scripted-admin.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('status --ready over TLS', () => {
  const { expired } = made
  const ask = async (tls: string, others: Readonly<Record<string, string>> = {}) => {
    const admin = await scriptedAdmin(jsonResponse({ ready: true }), expired)
    const file = configFileWith(`admin: { port: ${admin.port}, tls: ${tls} }`, others)
    return { admin, file, ...(await runCommand(['status', '--ready', '--config', file])) }
  }

  test('an expired certificate does not make a gateway unready', async () => {
    const pair = { 'a.pem': expired.cert, 'a.key': expired.key }

    expect(await ask('{ certificate: "file:a.pem", key: "file:a.key" }', pair)).toMatchObject({
      code: 0,
      out: 'ready\n',
      err: '',
    })
  })

  test('nor does one whose file is gone, which stderr tells', async () => {
    const { admin, file, code, out, err } = await ask('{ certificate: "file:a.pem", key: "file:a.key" }')

    expect({ code, out }).toEqual({ code: 0, out: 'ready\n' })
    expect(err).toBe(
      `lender-gateway: admin.tls in ${file} cannot be used; see: lender-gateway check ${file}; asked ${admin.url}\n`,
    )
  })
})

test('status --ready with a file that cannot be read is not ready, and no gateway is asked', async () => {
  const { code, out, err } = await runCommand(['status', '--ready', '--config', '/nowhere/gateway.yaml'])

  expect({ code, out }).toEqual({ code: 1, out: 'not ready\n' })
  expect(err).toBe(
    'lender-gateway: --config /nowhere/gateway.yaml cannot be read: no such file; --admin URL asks a gateway without one\n',
  )
})

test('status --ready has 2 s for both of its tries', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  for (const stream of [process.stdout, process.stderr]) {
    const write = vi.spyOn(stream, 'write').mockReturnValue(true)
    onTestFinished(() => write.mockRestore())
  }
  let tries = 0
  const port = await rawServer((socket) => {
    tries++
    vi.advanceTimersByTime(tries === 1 ? 1500 : 500)
    if (tries === 1) socket.destroy()
  })
  const config = configFileWith(`admin: { port: ${port}, tls: 7 }`)

  const code = await showReady({ config, format: 'text' })

  expect({ code, tries }).toEqual({ code: 1, tries: 2 })
})
