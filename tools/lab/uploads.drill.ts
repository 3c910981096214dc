import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../../test/helpers/certificates.ts'
import { openGateway } from '../../test/helpers/gateway.ts'
import { needProgram, requireFound } from '../../test/helpers/program.ts'
import { type SlowLink, slowLink } from '../../test/helpers/slow-link.ts'
import { certificateEntry } from '../../test/helpers/tls-gateway.ts'
import { pseudoRandomBytes } from '../../test/helpers/wire.ts'
import { uploadClients } from './uploads/clients.ts'

const openssl = await needProgram('openssl')

// Those that are quick to start; `node tools/lab/uploads.ts` asks all of them, at three rates.
const few = ['requests', 'urllib', 'wget', 'curl']
const clients = await Promise.all(
  uploadClients()
    .filter(({ name }) => few.includes(name))
    .map(async (client) => {
      const found = (await client.need()).map((each) => requireFound(each))
      return { ...client, missing: found.find(({ missing }) => missing !== null)?.missing ?? null }
    }),
)

const count = 4
const folder = mkdtempSync(join(tmpdir(), 'uploads-'))
const file = join(folder, 'body')
const closers: (() => Promise<unknown>)[] = []
let link: SlowLink

beforeAll(async () => {
  if (openssl.path === null) return
  const { right } = makeCertificates(openssl.path)
  const { port, gateway } = await openGateway({ listen: { tls: { certificates: [certificateEntry(right)] } } })
  link = await slowLink({ to: port, delayMs: 50, bytesPerSecond: 20_000_000 })
  writeFileSync(file, pseudoRandomBytes(24 * 1024 * 1024)) // more than the kernel's buffers take
  closers.push(link.close, () => gateway.close())
})

afterAll(async () => {
  for (const close of closers) await close()
  rmSync(folder, { recursive: true })
})

describe.skipIf(openssl.missing)('a rejected upload over TLS through a slow link', () => {
  for (const { name, missing, run } of clients)
    test.skipIf(missing)(`reaches ${name}`, async () => {
      const said = await run({ file, urls: [`https://127.0.0.1:${link.port}/unknown`], count, atOnce: count, folder })

      expect(said).toEqual(Array.from({ length: count }, () => '404'))
    })
})
