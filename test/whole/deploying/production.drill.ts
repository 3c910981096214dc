/** docs/production.md as a reader follows it: its commands, and its file with this machine's ports and addresses. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { freePort } from '../../helpers/free-port.ts'
import { printed } from '../../helpers/printed.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { requestOverTls } from '../../helpers/tls-client.ts'
import { claims, jwks, signingKey, signToken } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { examples, read, root, scratch } from './files.ts'

const { made, missing } = await needCertificates()
const example = read(`${examples}/production/gateway.yaml`)
const issuerKey = signingKey('ES256', 'of-the-issuer')
const commands = printed.filter(({ page }) => page === 'docs/production.md').map(({ text }) => text)

/** Makes a folder with what the page takes for granted: the file, a certificate and a contract. */
const startingFolder = async (gateway: string): Promise<string> => {
  const folder = scratch({ 'gateway.yaml': gateway, 'jwks.json': jwks(issuerKey) })
  for (const name of ['tls', 'bin']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'tls/chain.pem'), `${made.right.cert}${made.authority.cert}`)
  writeFileSync(join(folder, 'tls/key.pem'), made.right.key)
  writeFileSync(join(folder, 'bin/lender-gateway'), `#!/bin/sh\nexec '${root}/src/lender-gateway.js' "$@"\n`, {
    mode: 0o755,
  })
  const { out } = await runCommand(['openapi'])
  writeFileSync(join(folder, 'contract.yaml'), out.replace(/^servers:\n(?: .*\n)+/m, ''))
  return folder
}

const runIn = async (folder: string, command: string, environment: NodeJS.ProcessEnv = {}) => {
  const PATH = [join(folder, 'bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const child = spawn('sh', ['-c', command], { cwd: folder, env: { ...process.env, ...environment, PATH } })
  const closed = once(child, 'close')
  const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  const [code] = await closed
  return { code, out, err }
}

/** Finds a command of the page. */
const printedCommand = (start: string): string => {
  const found = commands.find((each) => each.startsWith(start))
  if (found === undefined) throw new Error(`docs/production.md prints no ${start}`)
  return found
}

describe.skipIf(missing)(`the production file${missing ?? ''}`, () => {
  test('has 64 lines at most, no problem and no warning', async () => {
    const folder = await startingFolder(example)
    for (const start of ['mkdir ', 'openssl rand -hex 32 > secrets/m', 'openssl rand -hex 32 > secrets/a'])
      await runIn(folder, printedCommand(start))

    expect(loadConfig(join(folder, 'gateway.yaml'), {})).toMatchObject({ ok: true, warnings: [] })
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(64)
  })

  test('lets in both clients and nobody else, and every command of the page works', { timeout: 120_000 }, async () => {
    const upstream = await httpUpstream()
    const adminPort = await freePort()
    const folder = await startingFolder(
      example
        .replace('port: 8443', 'port: 0')
        .replace('port: 9901', `port: ${adminPort}`)
        .replace('lender.example.com]', 'localhost]')
        .replace('https://id.example.com/jwks.json', 'file:jwks.json')
        .replace('/var/log/lender-gateway/audit.log', join(scratch({}), 'audit.log'))
        .replaceAll(/https:\/\/(?!id\.)[a-z-]+\.example\.com/g, upstream.url)
        .replace(/\[(http[^,]*), http[^\]]*\]/, '[$1]')
        .replace('{ path: /health }', 'none'),
    )
    const file = join(folder, 'gateway.yaml')
    const edit = (change: (text: string) => string): void => writeFileSync(file, change(readFileSync(file, 'utf8')))
    const run = async (start: string, environment: NodeJS.ProcessEnv = {}, here = (text: string) => text) => {
      const { code, out, err } = await runIn(folder, here(printedCommand(start)), environment)
      expect([start, code, err]).toEqual([start, start.includes('diff') ? 1 : 0, ''])
      return out
    }

    for (const start of ['mkdir ', 'openssl rand -hex 32 > secrets/m', 'openssl rand -hex 32 > secrets/a'])
      await run(start)
    const [, key = '', digest] =
      /X-Api-Key: (\S+)\n.*sha256: (\w+)/.exec(await run('lender-gateway hash-key --id')) ?? []
    const operator = await run('lender-gateway hash-key --operator anna')
    await run('lender-gateway hash-key --operator service-desk')
    const [, operatorToken = ''] = /Bearer (\S+)\n/.exec(operator) ?? []
    edit((text) =>
      text
        .replace(/sha256: [0-9a-f]{64}/, `sha256: ${digest}`)
        .replace(/name: anna, hash: [0-9a-f]{64}/, `name: anna, hash: ${/hash: (\w{64})/.exec(operator)?.[1]}`),
    )
    await run('lender-gateway check gateway.yaml')
    await run('lender-gateway check gateway.yaml --online')
    const served = serve(file)
    const port = await waitForListening(served)
    const response = await run('curl', {}, (text) =>
      text
        .replaceAll('lender.example.com:8443', `localhost:${port}`)
        .replace('KEY', key)
        .replace('curl', 'curl --silent --show-error --fail'),
    )
    const byToken = claims({ iss: 'https://id.example.com', aud: 'lender-gateway', client_id: 'bank-b-robot' })
    const token = `Authorization: Bearer ${signToken(issuerKey, byToken)}`
    const statuses = await Promise.all(
      [[`X-Api-Key: ${key}`], [token], []].map(async (fields) => (await requestOverTls(port, {}, fields)).status),
    )
    const environment = { LENDER_GATEWAY_ADMIN_TOKEN: operatorToken }
    const status = await run('lender-gateway status', environment)
    const edited = readFileSync(file, 'utf8').replace('sample: 1%', 'sample: 2%')
    writeFileSync(join(folder, 'edited.yaml'), edited)
    const diff = await run('lender-gateway diff', environment)
    writeFileSync(file, edited)
    await runIn(folder, 'lender-gateway reload --config gateway.yaml', environment)
    const back = await run('lender-gateway rollback', environment)

    expect(JSON.parse(response)).toMatchObject({ bytes: 0 })
    expect(statuses).toEqual([200, 200, 401])
    const clients = upstream.requests.map(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('X-Client-Id') + 1])
    expect([...new Set(clients)].sort()).toEqual(['bank-a', 'bank-b'])
    expect(status).toContain('gateway-eu-1')
    expect(diff).toContain('tracing.sample')
    expect(back).toContain('2% → 1%')
  })
})
