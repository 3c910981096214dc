import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkReachable } from '../../../../src/core/upstream/health/preflight.ts'
import { createHttpClient } from '../../../../src/features/auth/tokens/http-client.ts'
import { connectRedis } from '../../../../src/features/redis/redis-connection.ts'
import { redisSettings } from '../../../features/redis/redis-settings.ts'
import { needCertificates, type Pair } from '../../../helpers/certificates.ts'
import { httpsUpstream } from '../../../helpers/https-upstream.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const { made, missing } = await needCertificates()

// RFC 5280 §6: a trust anchor may be "the CA that issued the verifier's own certificate(s), or any other CA".
describe.skipIf(missing)('an issuing authority without its root', () => {
  const withChain = ({ key, cert }: Pair, ...others: readonly Pair[]): Pair => ({
    key,
    cert: [cert, ...others.map((other) => other.cert)].join('\n'),
  })

  describe('as clientCa', () => {
    test.each([
      ['TLSv1.2', 'localhost'],
      ['TLSv1.3', ''],
    ])('%s, asked for "%s": lets in what it has issued, and nothing else of its root', async (...asked) => {
      const [version, servername] = asked
      const settings = { clientCertificates: 'required', clientCa: made.issuing.cert }
      const { port } = await bootTlsGateway(made.right, settings)
      const statusOf = async (pair: Pair): Promise<number> =>
        (await requestOverTls(port, { minVersion: version, maxVersion: version, servername, ...pair } as object)).status

      expect({
        issued: await statusOf(made.issued),
        withItsChain: await statusOf(withChain(made.issued, made.issuing, made.authority)),
        ofTheRoot: await statusOf(made.client),
        selfSigned: await statusOf(made.selfSigned),
      }).toEqual({ issued: 200, withItsChain: 200, ofTheRoot: 0, selfSigned: 0 })
    })

    /** Boots a gateway that asks for certificates, by these settings and by others after an edit. */
    const boot = async (settings: object) => {
      const always = { clientCertificates: 'required' }
      const { port, edit, reload } = await bootTlsGateway(made.right, { ...always, ...settings })
      const certificates = [{ certificate: made.right.cert, key: made.right.key }]
      const reloadWith = (edited: object) => {
        edit({ listen: { tls: { certificates, ...always, ...edited } } })
        return reload()
      }
      return { reloadWith, statusOfIssued: async () => (await requestOverTls(port, made.issued)).status }
    }

    test('is one after an edit too, and again not after the next', async () => {
      const { reloadWith, statusOfIssued } = await boot({ clientCa: made.authority.cert })

      const statuses = [await statusOfIssued()] // of whose issuer the gateway knows nothing
      for (const { cert } of [made.issuing, made.selfSigned]) {
        await reloadWith({ clientCa: cert })
        statuses.push(await statusOfIssued())
      }

      expect(statuses).toEqual([0, 200, 0])
    })

    test('with lists of the revoked is rejected where its root is missing, and judged by them where it is not', async () => {
      const clientCa = `${made.issuing.cert}\n${made.authority.cert}`
      const lists = (ofIssuing: string) => [made.noneRevoked, ofIssuing]
      const { reloadWith, statusOfIssued } = await boot({ clientCa, clientCrl: lists(made.noneOfIssuedRevoked) })

      const before = await statusOfIssued()
      const alone = await reloadWith({ clientCa: made.issuing.cert, clientCrl: [made.noneOfIssuedRevoked] })
      const revoked = await reloadWith({ clientCa, clientCrl: lists(made.issuedRevoked) })

      const problem = {
        path: 'listen.tls.clientCa',
        message:
          'with clientCrl, every client of this authority would be rejected: the issuer of the authority is missing',
        found: 'CN=issuing, issued by CN=authority',
      }
      expect(alone).toMatchObject({ result: 'rejected', problems: [problem] })
      expect([before, revoked.result, await statusOfIssued()]).toEqual([200, 'applied', 0])
    })
  })

  describe('verifies a server', () => {
    const chains = ['issued alone', 'issued with its issuer'] as const

    /** Opens a server with a certificate of it, and one of its root, at which nothing must be accepted. */
    const openServers = async (chain: (typeof chains)[number]) => {
      const pair = chain === 'issued alone' ? made.issued : withChain(made.issued, made.issuing)
      return { issued: (await httpsUpstream(pair)).port, ofTheRoot: (await httpsUpstream(made.right)).port }
    }

    test.each(chains)('of an upstream: %s', async (chain) => {
      const { issued, ofTheRoot } = await openServers(chain)
      const check = (port: number) => {
        const config = upstreamConfig(`https://localhost:${port}`)
        return checkReachable(
          `https://localhost:${port}`,
          { ...config, tls: { ...config.tls, ca: made.issuing.cert } },
          'connect',
        )
      }

      await check(issued)
      await expect(check(ofTheRoot)).rejects.toThrow('unknown authority')
    })

    test.each(chains)('of Redis: %s', async (chain) => {
      const { issued, ofTheRoot } = await openServers(chain)
      const tls = { ca: made.issuing.cert, certificate: null, key: null }
      const failureOf = (port: number): Promise<string> =>
        connectRedis(
          redisSettings({ url: `rediss://localhost:${port}`, tls }),
          20_000,
        )(() => {}).then(
          () => 'none',
          ({ message }: Error) => message,
        )

      // It speaks HTTP: by then the certificate is verified.
      expect(await failureOf(issued)).not.toMatch(/certificate/)
      expect(await failureOf(ofTheRoot)).toMatch(/certificate/)
    })

    test.each(chains)('of an issuer of tokens, by the system’s trust: %s', async (chain) => {
      const ordinary = getCACertificates('default')
      setDefaultCACertificates([...ordinary, made.issuing.cert])
      onTestFinished(() => setDefaultCACertificates(ordinary))
      const { issued, ofTheRoot } = await openServers(chain)
      const get = async (port: number): Promise<number> => {
        const limits = { timeoutMs: 20_000, maxBytes: 1000, connections: 1 }
        const client = createHttpClient(new URL(`https://localhost:${port}/`), limits)
        onTestFinished(() => client.close())
        return (await client.request({ method: 'GET', headers: {} })).status
      }

      expect(await get(issued)).toBe(200)
      await expect(get(ofTheRoot)).rejects.toThrow('certificate')
    })
  })
})
