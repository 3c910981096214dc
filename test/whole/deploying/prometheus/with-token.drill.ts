/** A real Prometheus with what the example has as comments: the token, and TLS. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { needCertificates } from '../../../helpers/certificates.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startPrometheus } from '../../../helpers/prometheus.ts'
import { examples, read, scratch } from '../files.ts'

const prometheus = await needProgram('prometheus')
const { made, missing } = await needCertificates()
const token = 't'.repeat(40)

/** The example with its comments as settings, and with the files of a test. */
const withToken = (folder: string): Readonly<Record<string, unknown>> => {
  const text = read(`${examples}/prometheus/prometheus.yml`)
    .replaceAll(/^( +)# ((?:authorization|scheme|tls_config):.*| {2}\w+_file:.*)$/gm, '$1$2')
    .replaceAll('/etc/prometheus/', `${folder}/`)
  const { authorization, scheme, tls_config } = parse(text).scrape_configs[0]
  return { authorization, scheme, tls_config }
}

describe.skipIf(prometheus.missing ?? missing)('a listener with a token and TLS', () => {
  test.each([
    ['is read with them', token, 1],
    ['is not with another token', 'x'.repeat(40), 0],
  ])('%s', async (_, given, up) => {
    const { right, authority } = made
    const ours = { 'lender-gateway-ca.pem': authority.cert, 'lender-gateway-token': given }
    const folder = scratch({ 'right.pem': right.cert, 'right.key': right.key, ...ours })
    const tls = { certificate: `file:${join(folder, 'right.pem')}`, key: `file:${join(folder, 'right.key')}` }
    const { gateway } = await bootLiveGateway({ admin: { token, tls } })

    const watching = await startPrometheus(prometheus.path ?? '', gateway.adminAddress.port, withToken(folder))
    onTestFinished(() => watching.close())

    await expect.poll(async () => (await watching.query('up')).map(({ value }) => value)).toEqual([up])
    expect(await watching.query('lender_gateway_certificate_left_seconds > 86400')).toHaveLength(up)
  })
})
