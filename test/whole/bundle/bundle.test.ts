import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin, token } from '../../core/cli/scripted-admin.ts'
import { unzip } from '../../features/bundle/unzip.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { describeTests, drill, test } from '../../helpers/speed.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'bundle-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const whole = ['MANIFEST.txt', 'config.json', 'explain.txt', 'status.json', 'versions.json']

/** Runs `bundle` against an admin listener; `file` is the configuration that it reads. */
const runBundle = (admin: string, output: string, file = configFileWith('{}')) =>
  runCommand(['bundle', '--config', file, '--admin', admin, '--output', output])

describe('bundle', () => {
  test('holds the data of a gateway, readable for its owner alone', async () => {
    const live = await bootLiveGateway()
    const output = join(folder(), 'a.zip')

    const { code, out, err } = await runBundle(live.admin, output, live.file)

    const parts = unzip(output)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^.*a\.zip: \d+ parts, \d+ KiB\n$/)
    expect(statSync(output).mode & 0o777).toBe(0o600)
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(whole))
    expect(JSON.parse(parts['status.json'] ?? '')).toMatchObject({ state: 'serving', pid: process.pid })
    expect(JSON.parse(parts['config.json'] ?? '')).toEqual({
      hash: live.gateway.config.hash,
      config: expect.objectContaining({ upstreams: expect.anything() }),
    })
    expect(JSON.parse(parts['versions.json'] ?? '')).toMatchObject({
      command: '0.1.0',
      packageLock: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      node: { version: process.versions.node },
      system: { arch: process.arch },
    })
    for (const { method, path } of allOperations) expect(parts['explain.txt']).toContain(`${method} ${path}: forwarded`)
    for (const name of Object.keys(parts)) if (name !== 'MANIFEST.txt') expect(parts['MANIFEST.txt']).toContain(name)
  })

  test('holds no value of an answer, also where the file asks for examples', async () => {
    const json = (body: string) =>
      httpUpstream((_, response) => response.writeHead(200, ['Content-Type', 'application/json']).end(body))
    const [primary, candidate] = [await json('{"name":"Jane Doe"}'), await json('{"name":"John Roe","n":1}')]
    const shadow = { sample: '100%', compare: { examples: true } }
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow } } },
    })
    for (let n = 0; n < 20; n++) await (await fetch(`${live.url}/market/insights`)).text()
    const report = async () => (await fetch(`${live.admin}/shadow`)).text()
    await expect.poll(report, { timeout: 30_000 }).toContain('20 compared, none equal; /name differs in 20 (Jane Doe')
    const output = join(folder(), 'a.zip')

    const { code } = await runBundle(live.admin, output, live.file)

    const parts = unzip(output)
    expect(code).toBe(0)
    expect(Object.entries(parts).filter(([, text]) => /Jane|John/.test(text))).toEqual([])
    for (const name of ['shadow.json', 'overview.json'])
      expect(JSON.parse(parts[name] ?? '').comparisons).toMatchObject([
        {
          verdict: '20 compared, none equal; /name differs in 20, /n is added in 20',
          rows: [{ count: 20 }, { count: 20 }],
        },
      ])
  })

  drill('has the time in its default name, and JSON lists its parts', async () => {
    const live = await bootLiveGateway()
    const cwd = folder()
    const child = spawn(
      process.execPath,
      [join(process.cwd(), 'src/main.ts'), 'bundle', '--config', live.file, '--admin', live.admin, '--format', 'json'],
      { cwd },
    )
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })

    const [code] = await once(child, 'close')

    const [file = '', ...others] = readdirSync(cwd)
    expect([code, others]).toEqual([0, []])
    expect(file).toMatch(/^lender-gateway-bundle-\d{8}T\d{6}Z\.zip$/)
    expect(JSON.parse(out)).toMatchObject({
      file,
      bytes: statSync(join(cwd, file)).size,
      parts: expect.arrayContaining([{ name: 'status.json', error: null, absent: false }]),
    })
  })

  test('overwrites nothing, and follows no link, unless it is forced', async () => {
    const live = await bootLiveGateway()
    const here = folder()
    const [file, link] = [join(here, 'a.zip'), join(here, 'b.zip')]
    writeFileSync(file, 'precious', { mode: 0o644 })
    symlinkSync(file, link)
    const make = (output: string, ...args: readonly string[]) =>
      runCommand(['bundle', '--config', live.file, '--admin', live.admin, '--output', output, ...args])

    const [first, second] = [await make(file), await make(link)]
    const forced = await make(link, '--force')

    expect([first.code, second.code, forced.code]).toEqual([2, 2, 0])
    expect(first.err).toContain('a.zip is there already: --force overwrites it')
    expect(readFileSync(file, 'utf8')).toBe('precious')
    expect(Object.keys(unzip(link))).toEqual(expect.arrayContaining(whole))
    expect(statSync(link).mode & 0o777).toBe(0o600)
    expect(readdirSync(here).sort()).toEqual(['a.zip', 'b.zip'])
  })

  test('that cannot be written is reported in one line, and leaves nothing behind', async () => {
    const live = await bootLiveGateway()

    const { code, out, err } = await runCommand([
      'bundle',
      '--admin',
      live.admin,
      '--output',
      join(folder(), 'no', 'a.zip'),
    ])

    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/a\.zip cannot be written \(ENOENT\)\n$/)
  })

  test('names --output - where the folder takes no file, as in a container', async () => {
    const live = await bootLiveGateway()

    const { code, out, err } = await runBundle(live.admin, '/sys/a.zip', live.file) // takes no file, nor of root

    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/a\.zip cannot be written \((EACCES|EROFS|EPERM)\): --output - writes it to stdout\n$/)
  })

  drill('of an installation without package-lock.json has the hash of the list that npm leaves', async () => {
    const live = await bootLiveGateway()
    const image = folder()
    for (const path of ['src', 'package.json']) cpSync(path, join(image, path), { recursive: true })
    symlinkSync(join(process.cwd(), 'node_modules'), join(image, 'node_modules'))
    const output = join(image, 'a.zip')
    const args = ['src/main.ts', 'bundle', '--config', live.file, '--admin', live.admin, '--output', output]

    const [code] = await once(spawn(process.execPath, args, { cwd: image }), 'close')

    const list = readFileSync('node_modules/.package-lock.json')
    expect(code).toBe(0)
    expect(JSON.parse(unzip(output)['versions.json'] ?? '').packageLock).toBe(`sha256:${hash('sha256', list, 'hex')}`)
  })

  test('goes to stdout with --output -, and nothing else does', async () => {
    const live = await bootLiveGateway()
    const args = ['src/main.ts', 'bundle', '--config', live.file, '--admin', live.admin, '--output', '-']
    const child = spawn(process.execPath, args)
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk))

    const [code] = await once(child, 'close')

    expect(code).toBe(0)
    expect(Object.keys(unzip(Buffer.concat(chunks)))).toEqual(expect.arrayContaining(whole))
  })
})

describe('a missing part does not affect the others', () => {
  test('without a running gateway there is the explanation of its file', async () => {
    const file = configFileWith('upstreams: {}')
    const output = join(folder(), 'a.zip')

    const { code, err } = await runBundle(`http://127.0.0.1:${await freePort()}`, output, file)

    const parts = unzip(output)
    expect(code).toBe(1)
    expect(err).toMatch(
      /^lender-gateway: status\.json, config\.json, overview\.json, refused\.json, contract\.json, shadow\.json, metrics\.txt are missing: nothing listens at .*\n$/,
    )
    expect(Object.keys(parts).sort()).toEqual(['MANIFEST.txt', 'explain.txt', 'versions.json'])
    expect(parts['MANIFEST.txt']).toMatch(/^status\.json .* MISSING .*nothing listens at/m)
    expect(parts['explain.txt']).toContain('upstreams.valuation')
  })

  test.each([
    ['wants a token', jsonResponse({ code: 'unauthenticated' }, 401), 'wants a token'],
    ['fails', jsonResponse({ code: 'failed', detail: 'see the \u001b[31mlog' }, 500), String.raw`see the \x1b[31mlog`],
    [
      'is no gateway',
      jsonResponse({ error: 'no such page' }, 404),
      'is that the admin listener, and not the public one?',
    ],
    [
      'never ends',
      (response: ServerResponse) => {
        const chunk = Buffer.alloc(1024 * 1024, 'x')
        const more = (): void => {
          while (response.write(chunk));
          response.once('drain', more)
        }
        more()
      },
      'answers with over 8MiB',
    ],
  ])('one that %s is named', async (_, respond, why) => {
    const admin = await scriptedAdmin(respond)
    const output = join(folder(), 'a.zip')

    const { code, err } = await runBundle(admin.url, output)

    expect(code).toBe(1)
    expect(err).toContain(why)
    expect(unzip(output)['MANIFEST.txt']).toContain(why)
  })

  test('a part that is turned off is not missing', async () => {
    const live = await bootLiveGateway({ metrics: 'none' })
    const output = join(folder(), 'a.zip')

    const { code, err } = await runBundle(live.admin, output, live.file)

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(unzip(output)['MANIFEST.txt']).toMatch(/^metrics\.txt .* none +the gateway has none: older, or off/m)
    expect(Object.keys(unzip(output)).sort()).toEqual(
      [...whole, 'contract.json', 'overview.json', 'refused.json', 'shadow.json'].sort(),
    )
  })

  test('an operator who asks the public listener by mistake learns of it', async () => {
    const live = await bootLiveGateway()
    const output = join(folder(), 'a.zip')

    const { code, err } = await runBundle(live.url, output, live.file)

    expect(code).toBe(1)
    expect(err).toContain('is that the admin listener, and not the public one?')
  })

  drill('a part that an older gateway does not have is not missing', async () => {
    const admin = await scriptedAdmin(jsonResponse({ code: 'not-found', detail: 'one of /live is expected' }, 404))
    const output = join(folder(), 'a.zip')

    const { code } = await runBundle(admin.url, output)

    expect(code).toBe(0)
    expect(unzip(output)['MANIFEST.txt']).toMatch(/^metrics\.txt .* none +the gateway has none: older, or off/m)
  })
})

describeTests('it is safe to send', () => {
  const findings = [{ cause: 'there is no credential: 3 requests refused with 401, of 198.51.100.77' }]
  const response = {
    findings,
    refusals: [{ client: '198.51.100.77' }],
    config: { clients: [{ addresses: ['198.51.100.77'] }] },
  }

  test('addresses of clients are cut, unless the operator wants them', async () => {
    const admin = await scriptedAdmin(jsonResponse(response))
    const here = folder()
    const make = async (name: string, ...args: readonly string[]) => {
      const output = join(here, name)
      await runCommand(['bundle', '--config', configFileWith('{}'), '--admin', admin.url, '--output', output, ...args])
      const { 'metrics.txt': _, ...parts } = unzip(output) // this listener sends the same response to every request
      return Object.values(parts).join('\n')
    }

    const [cut, full] = [await make('a.zip'), await make('b.zip', '--addresses')]

    expect(cut).toContain('198.51.100.0/24')
    expect(cut.replaceAll('198.51.100.0/24', '')).not.toContain('198.51.100.')
    expect(cut).toMatch(/^addresses +of clients cut to their network/m)
    expect(full).toContain('"client": "198.51.100.77"')
    expect(full).toMatch(/^addresses +of clients in full/m)
  })

  test('so are those in the problems of a file', async () => {
    const client = (more: object) => ({ id: 'bank-a', operations: 'all', ...more })
    const clients = [client({ addresses: ['198.51.100.77/33'] }), client({ addresses: '198.51.100.78' })]
    const file = configFileWith(JSON.stringify({ clients }))
    const admin = await scriptedAdmin(jsonResponse(response))
    const [cut, full] = [join(folder(), 'a.zip'), join(folder(), 'b.zip')]

    await runBundle(admin.url, cut, file)
    await runCommand(['bundle', '--config', file, '--admin', admin.url, '--output', full, '--addresses'])

    expect(unzip(cut)['explain.txt']).toMatch(/clients\[0\]\.addresses\[0\]: wrong prefix length\n.*\n +found +\*\*\*/)
    expect(unzip(cut)['explain.txt']).not.toContain('198.51.100.7')
    expect(unzip(full)['explain.txt']).toContain('198.51.100.77/33')
  })

  test('the token is masked even when a listener repeats it', async () => {
    const admin = await scriptedAdmin((response) => response.end(JSON.stringify({ token, deep: [`Bearer ${token}`] })))
    const output = join(folder(), 'a.zip')

    await runCommand(['bundle', '--config', configFileWith('{}'), '--admin', admin.url, '--output', output], {
      LENDER_GATEWAY_ADMIN_TOKEN: token,
    })

    const parts = unzip(output)
    expect(parts['status.json']).toContain('Bearer ***')
    expect(Object.values(parts).join('\n')).not.toContain(token)
  })
})
