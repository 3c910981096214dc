import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { listenHttp2, missing } from '../../../helpers/http2.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { pseudoRandomBytes, sha256 } from '../../../helpers/wire.ts'

const [curl, h2load] = [await needProgram('curl'), await needProgram('h2load')]
const isMissing = [missing, curl.missing, h2load.missing].some((each) => each !== null)
const run = promisify(execFile)

const responseBody = pseudoRandomBytes(150_000)
const responseFields = [
  ...['Content-Type', 'a/b', 'ETag', '"a"', 'ETag', '"b"', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'],
  ...['X-Odd', 'caf\xe9', 'Content-Length', String(responseBody.length)],
]

/** The file with the body, and more arguments of curl. */
type Asked = readonly [body: string | null, extra: readonly string[]]

/** One of each method. */
const operations = allOperations.filter(({ id }) => ['valuation.score', 'market.insights'].includes(id))

describe.skipIf(isMissing)('operations over HTTP/2 are those over HTTP/1.1, byte for byte', () => {
  const site = liveGatewayForAll(() => ({ listen: listenHttp2() }))
  let folder: string

  beforeAll(() => {
    site.respondWith((_, response) => void response.writeHead(203, responseFields).end(responseBody))
    folder = mkdtempSync(join(tmpdir(), 'http2-'))
    writeFileSync(join(folder, 'small'), pseudoRandomBytes(3000))
    writeFileSync(join(folder, 'large'), pseudoRandomBytes(300_000))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const url = (path: string): string => `https://127.0.0.1:${site.port}${path}?a=%20b&A=%c3`

  /** Sends a request by curl; returns the upstream's request and the response, without the parts that must differ. */
  const byCurl = async (version: string, method: string, path: string, [body, extra]: Asked) => {
    const [fields, received] = [join(folder, 'fields'), join(folder, 'received')]
    const data = body === null ? [] : ['--data-binary', `@${join(folder, body)}`, '-H', 'Content-Type: a/b']
    const args = ['-sSk', version, '-X', method, '-D', fields, '-o', received, ...data, ...extra, url(path)]
    await run(curl.path ?? '', args)
    const request = site.server.requests.at(-1)
    const lines = readFileSync(fields, 'latin1').trim().split('\r\n')
    return {
      sent: { ...request, rawHeaders: alike(request?.rawHeaders ?? []), body: null },
      status: lines[0]?.split(' ')[1],
      fields: alike(lines.slice(1).flatMap((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)])),
      sha256: sha256(readFileSync(received)),
    }
  }

  const twice = (method: string): readonly Asked[] =>
    method === 'GET'
      ? [[null, ['-H', 'Cookie: a=1; b=2', '-H', 'X-A: caf\xe9', '-H', 'X-A: 2']]]
      : [
          ['small', []],
          ['large', ['-H', 'Transfer-Encoding: chunked', '-H', 'Expect:']],
        ]

  test.each(operations.map(({ id, method, path }) => [id, method, path] as const))('%s', async (_, method, path) => {
    for (const asked of twice(method)) {
      const [body] = asked
      const before = site.server.requests.length

      const old = await byCurl('--http1.1', method, path, asked)
      const multiplexed = await byCurl('--http2', method, path, asked)

      expect(site.server.requests.length).toBe(before + 2)
      expect(multiplexed).toEqual(old)
      expect(multiplexed).toMatchObject({ status: '203', sha256: sha256(responseBody) })
      expect(multiplexed.sent.sha256).toBe(sha256(body === null ? Buffer.alloc(0) : readFileSync(join(folder, body))))
      const via = site.server.requests.slice(-2).map(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('Via') + 1])
      expect(via.map((each) => each?.split(' ')[0])).toEqual(['1.1', '2.0'])
    }
  })

  test('many requests at once on an HTTP/2 connection equal those over HTTP/1.1', async () => {
    const urls = allOperations.filter(({ method }) => method === 'GET').map(({ path }) => url(path))

    const { stdout } = await run(h2load.path ?? '', ['-n', '100', '-c', '2', '-m', '100', ...urls])

    expect(stdout).toMatch(/100 succeeded, 0 failed, 0 errored/)
    expect(stdout).toContain(`${100 * responseBody.length}) data`)
  })
})

const ends = ['via', 'date', 'x-request-id', 'connection', 'host', 'transfer-encoding', 'content-length', 'keep-alive']

/** Folds names, and leaves out the fields that differ by request or framing. */
const alike = (fields: readonly string[]): string[] =>
  fields
    .map((each, i) => (i % 2 === 0 ? each.toLowerCase() : each.trim()))
    .filter((_, i, all) => !ends.includes(all[i - (i % 2)] ?? ''))
