import type { TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { groups } from '../../src/catalog.ts'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { type Fault, openBenches, show, showSound, upstreamsOf } from './benches.ts'
import { bootLab, statusOf } from './lab.ts'

const openssl = await needProgram('openssl')

/** Is a fault of one that speaks TLS. */
interface Mistrusted extends Fault {
  readonly tls: (made: Certificates) => TlsOptions
}

const unsent = { get: null, post: null, alone: ['502 tls-failed'] }
// With TLS 1.3 a client is done before the server has seen its certificate: the request is on the wire by then.
const sent = { get: '502 reset-before-headers', post: '502 reset-before-headers' }

const faults: readonly Mistrusted[] = [
  { ...unsent, fault: 'has a certificate for another name', tls: ({ wrongName }) => wrongName },
  { ...unsent, fault: 'has a certificate that has expired', tls: ({ expired }) => expired },
  { ...unsent, fault: 'has a certificate signed by itself', tls: ({ selfSigned }) => selfSigned },
  {
    ...sent,
    fault: 'refuses the certificate of the gateway after the handshake',
    tls: ({ right, authority }) => ({
      ...right,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    }),
  },
]

describe.skipIf(openssl.missing !== null)('an https endpoint that', () => {
  let made: Certificates

  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test.each(faults)('$fault', async ({ tls, ...fault }) => {
    const benches = await openBenches(made.right)
    for (const { faulty } of benches) {
      await faulty.refuse()
      await faulty.listen(tls(made))
    }
    const { authority, selfSigned } = made
    const shown = { ca: authority.cert, certificate: selfSigned.cert, key: selfSigned.key }
    const live = await bootLab(upstreamsOf(benches, { tls: shown }))

    const wrong = await Promise.all(
      benches.map(async (bench) => {
        const found = await show(live.port, fault, bench)
        await bench.faulty.refuse()
        await bench.faulty.listen()
        return [...found, ...(await showSound(live.port, bench, [bench.faulty, ...bench.sound]))]
      }),
    )

    expect(wrong.flat()).toEqual([])
    for (const group of groups) expect(await statusOf(live, group)).toMatchObject({ inFlight: 0 })
  })
})
