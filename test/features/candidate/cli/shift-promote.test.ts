import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin } from '../../../core/cli/scripted-admin.ts'
import { folderWith, withRisk } from '../../../core/config/helper.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const text = withRisk(`
    endpoints: [http://risk.internal]
    timeouts: { headers: 3s }
    candidate:
      endpoints: [http://risk-next.internal]
      share: 100%
`)

const write = (contents: string): string => join(folderWith({ 'gateway.yaml': contents }), 'gateway.yaml')

describe('shift --promote', () => {
  test('prints the whole file on stdout, what changes on stderr, and leaves the file alone', async () => {
    const file = write(text)
    const { url } = await scriptedAdmin(jsonResponse({}, 401))

    const { code, out, err } = await runCommand(['shift', 'risk', '--promote', '--config', file, '--admin', url])

    expect(code).toBe(0)
    expect(out).toBe(
      text.replace('http://risk.internal', 'http://risk-next.internal').replace(/ {4}candidate:[\s\S]*$/, ''),
    )
    expect(err).toMatch(
      /^\n\S+gateway.yaml [0-9a-f]{12} → [0-9a-f]{12}\n\nrisk\n {2}endpoints +http:\/\/risk.internal → /,
    )
    expect(err).toContain('  candidate  http://risk-next.internal → (not set)\n')
    expect(err).toContain('warning: it is not known how much goes to the candidate of risk: ')
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('warns of a gateway where not all clients are on the candidate, or where it was taken back', async () => {
    const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
    const live = await bootLiveGateway({
      upstreams: { risk: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], share: '100%' } } },
    })
    const run = (...args: readonly string[]) =>
      runCommand(['shift', ...args, '--config', live.file, '--admin', live.admin])

    const whole = await run('risk', '--promote', '--format', 'json')
    await run('risk', '--to', '25%')
    const part = await run('risk', '--promote')
    await run('risk', '--abort', '--reason', 'CHG-4711')
    const aborted = await run('risk', '--promote')

    expect(JSON.parse(whole.out)).toMatchObject({
      group: 'risk',
      changes: [{ part: 'upstreams.risk' }, {}],
      warnings: [],
    })
    expect([whole.err, whole.code, part.code, aborted.code]).toEqual(['', 0, 0, 0])
    expect(part.err).toContain(`warning: at ${live.admin} the candidate of risk gets 25% of the clients by 127.0.0.1`)
    expect(aborted.err).toContain('the candidate of risk gets nothing: aborted by 127.0.0.1')
  })

  test('warns of a candidate of which no endpoint is up, which `shift` does not recommend', async () => {
    const [primary, candidate] = [
      await httpUpstream(),
      await httpUpstream((_, response) => response.writeHead(500).end()),
    ]
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], share: '100%' } } },
    })
    const run = (...args: readonly string[]) =>
      runCommand(['shift', 'market', ...args, '--config', live.file, '--admin', live.admin])
    for (let i = 0; i < 5; i++) await (await fetch(`${live.url}/market/insights`)).text()

    const shown = await run()
    const promoted = await run('--promote')

    expect(shown.out).toMatch(
      /no endpoint of it is up; to take its clients back: \S+ \S+main\.ts shift market --abort --config /,
    )
    expect(shown.out).not.toContain('--promote')
    expect(promoted.code).toBe(0)
    expect(promoted.err).toContain(
      `warning: at ${live.admin} no endpoint of the candidate of market is up (${candidate.url} is failing)\n`,
    )
  })

  test('prints what a gateway takes: no client is without an answer, and all stay where they are', async () => {
    const [primary, candidate] = [
      await httpUpstream((_, response) => response.end('primary')),
      await httpUpstream((_, response) => response.end('candidate')),
    ]
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], share: '100%' } } },
    })
    const answers: string[] = []
    let isOver = false
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) answers.push(await (await fetch(`${live.url}/market/insights`)).text())
    })
    const promoted = await runCommand(['shift', 'market', '--promote', '--config', live.file, '--admin', live.admin])

    live.edit(promoted.out)
    const { status } = await fetchAdmin(`${live.admin}/reload`, 'POST')
    const atReload = answers.length
    await expect.poll(() => answers.length).toBeGreaterThan(atReload + 10)
    isOver = true
    await Promise.all(clients)
    const after = await runCommand(['shift', 'market', '--config', live.file, '--admin', live.admin])

    expect([promoted.code, status]).toEqual([0, 200])
    expect(new Set(answers)).toEqual(new Set(['candidate']))
    expect([after.code, after.err]).toEqual([1, expect.stringContaining('market has no candidate')])
  })

  test('ends with 1 for a group without a candidate or a file with problems, and with 2 without a file', async () => {
    const run = (file: string, group = 'risk') => runCommand(['shift', group, '--promote', '--config', file])

    const none = await run(write(text), 'market')
    const broken = await run(write(text.replace('100%', '101%')))
    const missing = await run('missing.yaml')

    expect([none.code, broken.code, missing.code]).toEqual([1, 1, 2])
    expect([none.out, broken.out, missing.out]).toEqual(['', '', ''])
    expect(none.err).toContain('market has no candidate')
    expect(broken.err).toContain('upstreams.risk.candidate.share')
  })

  test('says when the edit has to be made by hand', async () => {
    const anchored = withRisk(' &r\n    endpoints: [http://a.internal]\n    candidate: sandbox\n').replace(
      /^( {2}market): sandbox\n([\s\S]*)$/m,
      '$2  market: *r\n',
    )

    const { code, out, err } = await runCommand(['shift', 'risk', '--promote', '--config', write(anchored)])

    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('make it by hand')
  })

  test('beside an order is wrong usage', async () => {
    const { code, err } = await runCommand(['shift', 'risk', '--promote', '--to', '5%'])

    expect(code).toBe(2)
    expect(err).toContain("cannot be used with option '--to <SHARE>'")
  })
})
