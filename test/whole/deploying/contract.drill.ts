/**
 * The way of docs/contract.md, as printed: from nothing to an enforced contract, beside a gateway of two workers. Its
 * upstream breaks the contract on the way, and keeps it again.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { needProgram } from '../../helpers/program.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { blocksBelow, prepareSteps, textsOf } from './documented-steps.ts'

const [npm, curl] = [await needProgram('npm'), await needProgram('curl')]
const wait = { timeout: 60_000, interval: 250 }

interface Report {
  readonly contract: { readonly operations: Readonly<Record<string, object>> } | null
  readonly rows: readonly object[]
}

describe.skipIf(npm.missing ?? curl.missing)('from nothing to enforce', () => {
  test('by the blocks of the page, in their order', { timeout: 420_000 }, async () => {
    const steps = await prepareSteps(npm)
    const { checkout, url, run, tryRun, ask, findings, causes } = steps
    let body = '{"grade":"A","score":7}'
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
    })
    steps.write((config) => config.replace('valuation: sandbox', `valuation: ${upstream.url}`))
    writeFileSync(join(checkout.folder, 'home/.curlrc'), 'silent\n') // a 400 is to be shown
    const contract = join(checkout.folder, 'config/contract.yaml')
    const operation = async () => (await ask<Report>('/contract')).contract?.operations['valuation.score']
    const score = (): Promise<Response> =>
      fetch(`${url}/valuation/score`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ asset: 'A-1', amount: 1 }),
      })
    const shownBy = (text: string) => /^\$ (.*?)\n(.*)$/s.exec(text)?.slice(1) ?? []

    const blocks = blocksBelow('docs/contract.md', '## In ten minutes: from nothing to enforce')
    const [learn = '', traffic = '', draft = '', check = '', look = ''] = textsOf(blocks, 'sh')
    const [edit = '', name = '', enforce = ''] = textsOf(blocks, 'yaml')
    const [sample = ''] = textsOf(blocks, 'json')
    const [sampled = '', rejected = ''] = textsOf(blocks, 'console')
    expect(blocks.map(([language]) => language).join(' ')).toBe('sh sh sh yaml yaml sh json console sh yaml console')
    const gateway = await steps.start()

    // 1. Learn
    expect(await run(learn)).toMatch(/^the contract is learned again until /)
    expect((await run(traffic)).match(/"grade"/g)).toHaveLength(20)

    // 2. Draft: of both workers. The last message is learned after its response has gone out.
    const seen = { post: { 'x-seen': '20 of 20', responses: { 200: { 'x-seen': '20 of 20' } } } }
    await expect.poll(() => ask('/contract/draft'), wait).toMatchObject({ paths: { '/valuation/score': seen } })
    await run(draft)
    const drafted = parse(readFileSync(contract, 'utf8'))
    const post = drafted.paths['/valuation/score'].post
    const schema = post.requestBody.content['application/json'].schema
    expect(schema).toMatchObject({
      required: ['amount', 'asset'],
      properties: { amount: { type: 'integer' }, asset: { type: 'string' } },
    })

    // 3. Edit
    Object.assign(schema.properties.amount, parse(edit).amount)
    expect(schema.properties.amount).toMatchObject({ type: 'number', minimum: 0 })
    writeFileSync(contract, stringify(drafted))

    // 4. Report
    appendFileSync(checkout.file, name)
    expect(await run(check)).toMatch(/gateway\.yaml: good /)
    await expect.poll(operation, wait).toMatchObject({ request: { mode: 'report' }, response: { mode: 'report' } })
    writeFileSync(join(checkout.folder, 'request.json'), sample)
    const [command = '', shown] = shownBy(sampled)
    expect(await tryRun(command)).toMatchObject({ code: 1, output: expect.stringContaining(shown ?? '') })

    // 5. Look
    const looked = await run(look)
    expect(looked).toContain('body /asset: type: must be string')
    expect(looked).toMatch(/notice +operations\.valuation\.score: .* of the requests break the contract/)
    body = '{"grade":7,"score":7}'
    for (let i = 0; i < 4; i++) expect((await score()).status).toBe(200)
    await expect.poll(causes, wait).toContain('(4 of 5 in the last 5 minutes): /grade type')
    const finding = (await findings()).find(({ cause }) => cause.includes('responses of'))
    expect(finding).toMatchObject({ severity: 'warning', about: 'operations.valuation.score' })
    expect(finding?.cause).toContain(`responses of ${upstream.url} break the contract`)
    expect(await run('lender-gateway contract report')).toContain('body /grade: type: must be string')

    // 6. Enforce
    appendFileSync(checkout.file, enforce)
    await expect.poll(operation, wait).toMatchObject({ request: { mode: 'enforce' }, response: { mode: 'enforce' } })
    expect(await findings()).not.toContainEqual(expect.objectContaining({ about: 'config' }))
    const [post400 = '', problem = ''] = shownBy(rejected)
    const withoutId = (text: string): unknown => ({ ...JSON.parse(text), requestId: null })
    expect(withoutId(await run(post400))).toEqual(withoutId(problem))
    const broken = await score()
    expect([broken.status, await broken.json()]).toMatchObject([502, { code: 'invalid-response' }])
    const line = await gateway.line(({ failure }) => failure === 'invalid-response')
    expect(line.cause).toBe('body /grade type: must be string')
    await expect.poll(causes, wait).toContain('and clients get 502')

    // The upstream is mended: the finding says so after a minute.
    body = '{"grade":"B","score":7}'
    expect((await score()).status).toBe(200)
    await expect.poll(causes, { timeout: 150_000, interval: 1000 }).toMatch(/clients get 502 \(.*, none since /)
    const { rows } = await ask<Report>('/contract')
    const counted = [
      { pointer: '/asset', count: 2 },
      { pointer: '/grade', count: 5 },
    ]
    for (const row of counted) expect(rows).toContainEqual(expect.objectContaining(row))

    // With another contract counting begins anew.
    appendFileSync(contract, '# mended\n')
    await expect.poll(causes, wait).not.toMatch(/of the (requests|responses) /)
    expect((await score()).status).toBe(200)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
  })
})
