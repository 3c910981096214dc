import { expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import { serveInProcess } from '../../../src/core/downstream/serve-in-process.ts'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { createDataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { logInMemory, testConfig } from '../../helpers/gateway.ts'
import { certificateEntry } from '../../helpers/tls-gateway.ts'

const { made, missing } = await needCertificates()

test.skipIf(missing)('a key pair that TLS rejects is found before a configuration takes effect', async () => {
  const { right } = made
  const config = testConfig({
    upstream: 'http://a.invalid',
    listen: { tls: { certificates: [certificateEntry(right)] } },
  })
  const toInput = (next: Config) => ({ config: next, overrides: new Overrides(), sandboxOrigin: null })
  const dataPlane = await createDataPlane(toInput(config), { logEvent: () => {} })
  const server = await serveInProcess(dataPlane, logInMemory().log)
  onTestFinished(() => server.close(0))
  const { tls } = config.listen
  const cut = { certificate: right.cert.slice(0, 200), key: right.key }
  const broken: Config = { ...config, listen: { ...config.listen, tls: tls && { ...tls, certificates: [cut] } } }

  await expect(server.prepare(toInput(broken))).rejects.toThrow()

  expect(dataPlane.currentSnapshot.value.config).toBe(config)
})
