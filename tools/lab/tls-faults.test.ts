import type { TlsOptions } from 'node:tls'
import { describe, expect } from 'vitest'
import { groups } from '../../src/operations.ts'
import { type Certificates, needCertificates } from '../../test/helpers/certificates.ts'
import { part, testAndDrill } from '../../test/helpers/speed.ts'
import { checkFault, checkRecovery, type Fault, openFaultSetups, toUpstreams } from './fault-matrix.ts'
import { bootLab, fetchGroupStatus } from './lab.ts'

const { made, missing } = await needCertificates()

/** A fault of one that speaks TLS. */
interface Mistrusted extends Fault {
  readonly tls: (made: Certificates) => TlsOptions
}

const unsent = { get: null, post: null, alone: ['502 tls-failed'] }
// With TLS 1.3 a client is done before the server has seen its certificate: the request is on the wire by then.
const sent = { get: '502 reset-before-headers', post: '502 reset-before-headers' }

const faults: readonly Mistrusted[] = [
  { ...unsent, fault: 'has a certificate for another name', tls: ({ wrongName }) => wrongName },
  {
    ...sent,
    fault: 'rejects the certificate of the gateway after the handshake',
    tls: ({ right, authority }) => ({
      ...right,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    }),
  },
  { ...unsent, fault: 'has a certificate that has expired', tls: ({ expired }) => expired },
  { ...unsent, fault: 'has a certificate signed by itself', tls: ({ selfSigned }) => selfSigned },
]

describe.skipIf(missing !== null)('an https endpoint that', () => {
  testAndDrill.each(part(faults, 2))('$fault', async ({ tls, ...fault }) => {
    const benches = await openFaultSetups(made.right)
    for (const { faulty } of benches) {
      await faulty.refuseConnections()
      await faulty.listen(tls(made))
    }
    const { authority, selfSigned } = made
    const shown = { ca: authority.cert, certificate: selfSigned.cert, key: selfSigned.key }
    const live = await bootLab(toUpstreams(benches, { tls: shown }))

    const wrong = await Promise.all(
      benches.map(async (bench) => {
        const found = await checkFault(live.port, fault, bench)
        await bench.faulty.refuseConnections()
        await bench.faulty.listen()
        return [...found, ...(await checkRecovery(live.port, bench, [bench.faulty, ...bench.sound]))]
      }),
    )

    expect(wrong.flat()).toEqual([])
    for (const group of groups) expect(await fetchGroupStatus(live, group)).toMatchObject({ inFlight: 0 })
  })
})
