import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin, token } from '../../core/cli/scripted-admin.ts'
import { folderWith } from '../../core/config/helper.ts'
import { unzip } from '../../features/bundle/unzip.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway, shareLiveGateway } from '../../helpers/live-gateway.ts'
import { describeTests, drill, test } from '../../helpers/speed.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const shared = await shareLiveGateway()

const whole = ['MANIFEST.txt', 'config.json', 'explain.txt', 'status.json', 'versions.json']

/** Runs `bundle` against an admin listener, and reads what it has made; `file` is the configuration that it reads. */
const bundle = async (
  admin: string,
  {
    file = configFileWith('{}'),
    output = join(folderWith({}), 'a.zip'),
    environment = {},
    args = [] as readonly string[],
  } = {},
) => {
  const words = ['bundle', '--config', file, '--admin', admin, '--output', output, ...args]
  const result = await runCommand(words, environment)
  const parts = existsSync(output) ? unzip(output) : {}
  return { ...result, output, parts, manifest: parts['MANIFEST.txt'] ?? '', text: Object.values(parts).join('\n') }
}

const main = join(process.cwd(), 'src/lender-gateway.js')
const asked = ['bundle', '--config', shared.file, '--admin', shared.admin]

/** Runs `bundle` by a process of its own, and returns its exit code and its output. */
const spawnBundle = async (cwd: string, script: string, ...args: readonly string[]) => {
  const child = spawn(process.execPath, [script, ...asked, ...args], { cwd })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk))
  const [code] = await once(child, 'close')
  return { code, out: Buffer.concat(chunks) }
}

describe('bundle', () => {
  test('holds the data of a gateway, readable for its owner alone', async () => {
    const { code, out, err, output, parts, manifest } = await bundle(shared.admin, { file: shared.file })

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^.*a\.zip: \d+ parts, \d+ KiB\n$/)
    expect(statSync(output).mode & 0o777).toBe(0o600)
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(whole))
    expect(JSON.parse(parts['status.json'] ?? '')).toMatchObject({ state: 'serving', pid: process.pid })
    const config = expect.objectContaining({ upstreams: expect.anything() })
    expect(JSON.parse(parts['config.json'] ?? '')).toEqual({ hash: shared.gateway.config.hash, config })
    expect(JSON.parse(parts['versions.json'] ?? '')).toMatchObject({
      ...{ command: '0.2.0', node: { version: process.versions.node }, system: { arch: process.arch } },
      packageLock: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    })
    for (const { method, path } of allOperations) expect(parts['explain.txt']).toContain(`${method} ${path}: forwarded`)
    for (const name of Object.keys(parts)) if (name !== 'MANIFEST.txt') expect(manifest).toContain(name)
  })

  test('holds no value of a response, also where the file asks for examples', async () => {
    const json = (body: string) =>
      httpUpstream((_, response) => response.writeHead(200, ['Content-Type', 'application/json']).end(body))
    const [primary, candidate] = [await json('{"name":"Jane Doe"}'), await json('{"name":"John Roe","n":1}')]
    const shadow = { sample: '100%', compare: { examples: true } }
    const market = { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow } }
    const live = await bootLiveGateway({ upstreams: { market } })
    for (let n = 0; n < 20; n++) await (await fetch(`${live.url}/market/insights`)).text()
    const report = async () => (await fetch(`${live.admin}/shadow`)).text()
    await expect.poll(report).toContain('20 compared, none equal; /name differs in 20 (Jane Doe')

    const { code, parts, text } = await bundle(live.admin, { file: live.file })

    expect(code).toBe(0)
    expect(text).not.toMatch(/Jane|John/)
    const verdict = '20 compared, none equal; /name differs in 20, /n is added in 20'
    const comparisons = [{ verdict, rows: [{ count: 20 }, { count: 20 }] }]
    for (const name of ['shadow.json', 'overview.json'])
      expect(JSON.parse(parts[name] ?? '')).toMatchObject({ comparisons })
  })

  drill('has the time in its default name, and JSON lists its parts', async () => {
    const cwd = folderWith({})

    const { code, out } = await spawnBundle(cwd, main, '--format', 'json')

    const [file = '', ...others] = readdirSync(cwd)
    expect([code, others]).toEqual([0, []])
    expect(file).toMatch(/^lender-gateway-bundle-\d{8}T\d{6}Z\.zip$/)
    expect(JSON.parse(out.toString())).toMatchObject({
      ...{ file, bytes: statSync(join(cwd, file)).size },
      parts: expect.arrayContaining([{ name: 'status.json', error: null, absent: false }]),
    })
  })

  test('overwrites nothing, and follows no link, unless it is forced', async () => {
    const here = folderWith({})
    const [file, link] = [join(here, 'a.zip'), join(here, 'b.zip')]
    writeFileSync(file, 'precious', { mode: 0o644 })
    symlinkSync(file, link)
    const make = (...args: readonly string[]) => runCommand([...asked, '--output', ...args])

    const [first, second, forced] = [await make(file), await make(link), await make(link, '--force')]

    expect([first.code, second.code, forced.code]).toEqual([2, 2, 0])
    expect(first.err).toContain('a.zip exists: --force overwrites it')
    expect(readFileSync(file, 'utf8')).toBe('precious')
    expect(Object.keys(unzip(link))).toEqual(expect.arrayContaining(whole))
    expect(statSync(link).mode & 0o777).toBe(0o600)
    expect(readdirSync(here).sort()).toEqual(['a.zip', 'b.zip'])
  })

  test('that cannot be written is reported in one line, which names --output - where the folder takes no file', async () => {
    const missing = await bundle(shared.admin, { output: join(folderWith({}), 'no', 'a.zip') })
    const readOnly = await bundle(shared.admin, { output: '/sys/a.zip' }) // takes no file, nor of root

    expect([missing.code, missing.out, readOnly.code, readOnly.out]).toEqual([2, '', 2, ''])
    expect(missing.err).toMatch(/a\.zip cannot be written \(ENOENT\)\n$/)
    expect(readOnly.err).toMatch(/a\.zip cannot be written \((EACCES|EROFS|EPERM)\): --output - writes it to stdout\n$/)
  })

  drill('of an installation without package-lock.json has the hash of the list that npm leaves', async () => {
    const image = folderWith({})
    for (const path of ['src', 'package.json']) cpSync(path, join(image, path), { recursive: true })
    symlinkSync(join(process.cwd(), 'node_modules'), join(image, 'node_modules'))

    const { code, out } = await spawnBundle(image, 'src/lender-gateway.js', '--output', '-')

    const list = readFileSync('node_modules/.package-lock.json')
    expect(code).toBe(0)
    expect(JSON.parse(unzip(out)['versions.json'] ?? '').packageLock).toBe(`sha256:${hash('sha256', list, 'hex')}`)
  })

  test('goes to stdout with --output -, and nothing else does', async () => {
    const { code, out, err } = await runCommand([...asked, '--output', '-'])

    expect({ code, err }).toEqual({ code: 0, err: '' })
    // From the first record of an archive to its last.
    expect([out.slice(0, 4), out.slice(-22)]).toEqual(['PK\u0003\u0004', expect.stringContaining('PK\u0005\u0006')])
    for (const name of whole) expect(out).toContain(name)
  })
})

const noMetrics = /^metrics\.txt .* none +the gateway has none: older, or off/m

describe('a missing part does not affect the others', () => {
  test('without a running gateway there is the explanation of its file', async () => {
    const file = configFileWith('upstreams: {}')

    const { code, err, parts, manifest } = await bundle(`http://127.0.0.1:${await freePort()}`, { file })

    const missing = 'status.json, config.json, overview.json, rejected.json, contract.json, shadow.json, metrics.txt'
    expect(code).toBe(1)
    expect(err).toMatch(`lender-gateway: ${missing} are missing: nothing listens at `)
    expect(Object.keys(parts).sort()).toEqual(['MANIFEST.txt', 'explain.txt', 'versions.json'])
    expect(manifest).toMatch(/^status\.json .* MISSING .*nothing listens at/m)
    expect(parts['explain.txt']).toContain('upstreams.valuation')
  })

  const stream = (response: ServerResponse): void => {
    if (response.req.url !== '/status') return void response.end('{}')
    while (response.write(Buffer.alloc(1024 * 1024, 'x')));
    response.once('drain', () => stream(response))
  }
  const mistaken = 'is that the admin listener, and not the public one?'

  test.each([
    ['wants a token', jsonResponse({ code: 'unauthenticated' }, 401), 'wants a token'],
    ['fails', jsonResponse({ code: 'failed', detail: 'see the \u001b[31mlog' }, 500), String.raw`see the \x1b[31mlog`],
    ['is no gateway', jsonResponse({ error: 'no such page' }, 404), mistaken],
    ['never ends', stream, 'responds with over 8MiB'],
  ])('one that %s is named', async (_, respond, why) => {
    const admin = await scriptedAdmin(respond)

    const { code, err, manifest } = await bundle(admin.url)

    expect(code).toBe(1)
    for (const text of [err, manifest]) expect(text).toContain(why)
  })

  test('an operator who asks the public listener by mistake learns of it', async () => {
    expect(await bundle(shared.url)).toMatchObject({ code: 1, err: expect.stringContaining(mistaken) })
  })

  test('a part that is turned off is not missing', async () => {
    const live = await bootLiveGateway({ metrics: 'none' })

    const { code, err, parts, manifest } = await bundle(live.admin, { file: live.file })

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(manifest).toMatch(noMetrics)
    const others = ['contract.json', 'overview.json', 'rejected.json', 'shadow.json']
    expect(Object.keys(parts).sort()).toEqual([...whole, ...others].sort())
  })

  drill('a part that an older gateway does not have is not missing', async () => {
    const admin = await scriptedAdmin(jsonResponse({ code: 'not-found', detail: 'one of /live is expected' }, 404))

    expect(await bundle(admin.url)).toMatchObject({ code: 0, manifest: expect.stringMatching(noMetrics) })
  })
})

describeTests('it is safe to send', () => {
  const response = {
    findings: [{ cause: 'there is no credential: 3 requests rejected with 401, of 198.51.100.77' }],
    rejections: [{ client: '198.51.100.77' }],
    config: { clients: [{ addresses: ['198.51.100.77'] }] },
  }
  const args = ['--addresses']

  test('addresses of clients are cut, also in the problems of a file, unless the operator wants them', async () => {
    const client = (addresses: unknown) => ({ id: 'bank-a', operations: 'all', addresses })
    const clients = [client(['198.51.100.77/33']), client('198.51.100.78')]
    const file = configFileWith(JSON.stringify({ clients }))
    const admin = await scriptedAdmin(jsonResponse(response))

    const [cut, full] = [await bundle(admin.url, { file }), await bundle(admin.url, { file, args })]

    const { 'metrics.txt': _, ...parts } = cut.parts // this listener sends the same response to every request
    const text = Object.values(parts).join('\n')
    expect(text).toContain('198.51.100.0/24')
    expect(text.replaceAll('198.51.100.0/24', '')).not.toContain('198.51.100.')
    expect(text).toMatch(/^addresses +of clients cut to their network/m)
    expect(text).toMatch(/clients\[0\]\.addresses\[0\]: wrong prefix length\n.*\n +found +\*\*\*/)
    expect(full.text).toContain('"client": "198.51.100.77"')
    expect(full.text).toMatch(/^addresses +of clients in full/m)
    expect(full.parts['explain.txt']).toContain('198.51.100.77/33')
  })

  test('the token is masked even when a listener repeats it', async () => {
    const admin = await scriptedAdmin((response) => response.end(JSON.stringify({ token, deep: [`Bearer ${token}`] })))

    const { parts, text } = await bundle(admin.url, { environment: { LENDER_GATEWAY_ADMIN_TOKEN: token } })

    expect(parts['status.json']).toContain('Bearer ***')
    expect(text).not.toContain(token)
  })
})
