import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { unzip } from '../../features/bundle/unzip.ts'
import { freePort } from '../../helpers/free-port.ts'
import { configText } from '../../helpers/gateway.ts'
import { secretEncodings } from '../../helpers/secret-leaks.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: an archive that is sent to a helper is read by an attacker who gets hold of it. So there is a credential
// in every place that can hold one, requests are rejected for each of them, an edit with two more is rejected, and none
// may be found again.
const planted = {
  header: 'planted-in-a-field',
  bearer: 'planted-in-a-token',
  key: `planted-in-a-key-${'k'.repeat(26)}`,
  wrongKey: `planted-in-wrong-key-${'k'.repeat(22)}`,
  query: 'planted-in-the-query',
  path: 'planted-in-the-path',
  body: 'planted-in-the-body',
  answer: 'planted-in-an-answer',
  set: 'planted-in-request-set',
  file: 'planted-in-a-file',
  environment: 'planted-in-the-environment',
  admin: 'planted-as-admin-token',
  redis: 'planted-in-a-redis-url',
  redisPassword: 'planted-beside-a-redis',
  sentinelPassword: 'planted-for-sentinels',
  auditKey: `planted-in-the-audit-key-${'k'.repeat(32)}`,
  clientSecret: 'planted-as-client-secret',
  spanToken: 'planted-for-the-receiver-of-spans',
  spanKey: 'planted-as-a-key-of-that-receiver',
  url: 'planted-in-the-url-of-an-upstream',
} as const

/** Makes `tail` print the recent rejections, as many lines at least. */
const lastRejections = async (file: string, most: number): Promise<string> => {
  const args = ['src/main.ts', 'tail', '--refused', '--since', '1h', '--config', file]
  const child = spawn(process.execPath, args)
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await expect.poll(() => text.trimEnd().split('\n').length, { timeout: 30_000 }).toBeGreaterThan(most / 2)
  child.kill('SIGINT')
  await once(child, 'close')
  return text
}

test('no credential that is in anything comes out in an archive, nor in a terminal', async () => {
  const upstream = await httpUpstream(({ url }, response) => {
    if (url.includes('cut')) return void response.socket?.destroy()
    response.writeHead(500, { 'X-Answer': planted.answer }).end(planted.answer)
  })
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [adminPort, nobody] = [await freePort(), await freePort()]
  const [file, output] = [join(folder, 'gateway.yaml'), join(folder, 'a.zip')]
  writeFileSync(join(folder, 'secret'), planted.file)
  writeFileSync(join(folder, 'audit-key'), planted.auditKey)
  writeFileSync(join(folder, 'span-token'), `Bearer ${planted.spanToken}`)
  const settings = {
    upstreams: { compliance: `http://127.0.0.1:${nobody}` },
    upstream: {
      endpoints: [upstream.url],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: placeholders of the file look like these
      request: { set: { 'X-Team': planted.set, 'X-File': 'file:secret', 'X-Environment': '${PLANTED}' } },
    },
    admin: { port: adminPort, token: planted.admin },
    cache: {
      redis: {
        ...{ sentinels: [`127.0.0.1:${nobody}`], name: 'mymaster' },
        ...{ password: planted.redisPassword, sentinelPassword: planted.sentinelPassword },
      },
    },
    limits: { address: { rate: '1000/s' }, redis: { url: `redis://user:${planted.redis}@127.0.0.1:${nobody}` } },
    auth: {
      methods: ['apiKey', 'introspection'],
      introspection: { url: `${upstream.url}/cut`, clientId: 'gateway', clientSecret: planted.clientSecret },
    },
    audit: { file: join(folder, 'audit.log'), key: 'file:audit-key' },
    tracing: {
      otlp: `http://127.0.0.1:${nobody}/v1/traces`,
      headers: { Authorization: 'file:span-token', 'X-Honeycomb-Team': planted.spanKey },
      sample: '100%',
    },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'a', sha256: hash('sha256', planted.key) }] }],
  }
  writeFileSync(file, configText(settings))
  const port = await waitForListening(serve(file, { PLANTED: planted.environment }))
  const ask = async (path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<number> => {
    const body = method === 'POST' ? { body: planted.body } : {}
    const fields = { 'X-Custom': planted.header, ...headers }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: fields, ...body })
    return response.status
  }
  const key = { 'X-Api-Key': `a.${planted.key}` }
  const responses = [
    await ask(`/market/insights?${planted.query}`, key),
    await ask(`/market/insights?cut&${planted.query}`, key),
    await ask(`/inventory/sync?${planted.query}`, key, 'POST'),
    await ask('/compliance/audit-trail', key),
    await ask(`/${planted.path}?${planted.query}`, key),
    await ask(`/market/insights/${planted.path}`, key),
    await ask('/market/insights', key, 'POST'),
    await ask('/market/insights', { 'X-Api-Key': `a.${planted.wrongKey}` }),
    await ask('/market/insights', { Authorization: `Bearer ${planted.bearer}` }),
  ]
  writeFileSync(file, configText({ ...settings, upstream: `http://user:${planted.url}@host/?${planted.query}` }))
  const edit = await fetch(`http://127.0.0.1:${adminPort}/reload`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${planted.admin}` },
  })
  // Explained is what the file says; broken, it explains nothing.
  const make = (to: string) =>
    runCommand(['bundle', '--config', file, '--output', to], { PLANTED: planted.environment })
  const broken = await make(join(folder, 'broken.zip'))
  writeFileSync(file, configText(settings))

  const { code, err, out } = await make(output)
  const shown = await Promise.all(
    [['top', '--once'], ['status'], ['explain', 'GET', '/market/insights', '--live']].map((command) =>
      runCommand([...command, '--config', file], { PLANTED: planted.environment }),
    ),
  )
  const followed = await lastRejections(file, responses.length)

  expect(responses).toEqual([500, 502, 500, 502, 404, 404, 405, 401, 503])
  expect([edit.status, broken.code, code]).toEqual([422, 0, 0])
  const parts: Readonly<Record<string, string>> = {
    ...unzip(output),
    out: out + err,
    followed,
    shown: shown.map((each) => each.out + each.err).join(),
  }
  const others = Object.entries(unzip(join(folder, 'broken.zip')))
  for (const [name, text] of [...Object.entries(parts), ...others])
    for (const [where, secret] of Object.entries(planted))
      for (const spelling of secretEncodings(secret))
        expect(text.includes(spelling), `${where} is in ${name}`).toBe(false)
  for (const name of ['status', 'config', 'overview', 'refused'].map((each) => `${each}.json`).concat('metrics.txt'))
    expect(parts[name], name).toBeDefined()
  expect(parts['refused.json']).toContain('"kind": "unauthenticated"')
  expect(parts['metrics.txt']).toContain('lender_gateway_')
  expect(shown.map((each) => each.code)).toEqual([0, 0, 0])
  expect(followed).toContain('401 unauthenticated')
  expect(parts['config.json']).toContain('"X-File": "***"')
  expect(parts['status.json']).toContain('"lastRefusal": {')
  expect(parts['explain.txt']).toContain('POST /risk/asset-valuation: forwarded')
})
