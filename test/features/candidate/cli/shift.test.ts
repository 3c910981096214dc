import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { jsonResponse, runCommand, scriptedAdmin } from '../../../core/cli/scripted-admin.ts'
import { folderWith, withRisk } from '../../../core/config/helper.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, type Responder } from '../../../helpers/upstream.ts'

/** Boots a gateway whose `risk` has a candidate, and runs the command there. */
const bootWithCandidate = async (own: object, responding?: Responder) => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream(responding)]
  const risk = { endpoints: [primary.url], candidate: { endpoints: [candidate.url], ...own } }
  const live = await bootLiveGateway({ upstreams: { risk } })
  const run = (...args: readonly string[]) => runCommand(['shift', ...args, '--admin', live.admin])
  return { live, candidate, run }
}

describe('shift', () => {
  test('shift shows the share, sends commands, and prints what holds until when', async () => {
    const { live, candidate, run } = await bootWithCandidate({ steps: { shares: ['1%', '5%'], every: '15m' } })
    const said = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await run('risk', ...args)
      expect([code, err]).toEqual([0, ''])
      return out
    }

    const first = await said()
    expect(first).toMatch(/^the candidate of risk gets 1% of the clients: step 1 of 2, 5% at 2\S+Z, 1[45]m.* left\n\n/)
    expect(first).toContain(candidate.url)
    expect(JSON.parse(await said('--format', 'json'))).toMatchObject({
      ...{ group: 'risk', shift: { share: 0.01 }, endpoints: [{ state: 'up' }] },
    })

    const commanded = await said('--to', '25%', '--for', '2h', '--reason', 'CHG-4711')
    expect(commanded).toMatch(
      /^the candidate of risk gets 25% of the clients by 127.0.0.1 until 2\S+Z \(CHG-4711\); then 25% of the clients, and the steps continue\n$/,
    )
    const paused = { by: '127.0.0.1', reason: null, until: expect.stringMatching(/Z$/) }
    expect(JSON.parse(await said('--pause', '--for', '3h', '--format', 'json'))).toMatchObject({
      ...{ command: 'pause', shift: { paused, step: { of: 2, nextAt: null } } },
    })
    expect(await said('--resume')).toContain('25% of the clients: step 2 of 2, the last')
    expect(await said('--abort')).toMatch(
      /^the candidate of risk gets nothing: aborted by 127.0.0.1 at 2\S+Z; until an /,
    )
    const next = `\n\nto send clients to the candidate again: ${programCommand()} shift risk --resume`
    const [here, byFile] = [` --admin ${live.admin}\n`, ` --config ${live.file}`]
    expect(await said()).toSatisfy((text: string) => text.endsWith(next + here))
    expect(await said('--config', live.file)).toSatisfy((text: string) => text.endsWith(next + byFile + here))

    await said('--resume')
    await said('--pause')
    expect(await said('--to', '3%')).toMatch(
      /; then 3% of the clients; the steps are paused by 127\.0\.0\.1 since .*, until an operator resumes\n$/,
    )
    expect(JSON.parse(await said('--to', '100%', '--format', 'json'))).toMatchObject({
      ...{ group: 'risk', command: '100%', shift: { share: 1 } },
    })
    expect(await said()).toMatch(
      /\nto make the candidate the upstream: \S+ \S+lender-gateway\.js shift risk --promote --admin http:\S+ prints the file\n$/,
    )

    const [none, rejected] = [await run('market'), await run('market', '--to', '5%')]
    expect([none.code, rejected.code]).toEqual([1, 1])
    expect(none.err).toContain('market has no candidate')
    expect(rejected.err).toContain('rejects the command: market has no candidate')
  })

  const oneOf = 'one of --to, --pause, --resume and --abort is expected'
  const isInvalid = (option: string, value: string) => `option '${option}' argument '${value}' is invalid. Expected `

  test.each([
    [['risks', '--to', '5%'], 'risks'],
    [['risk', '--to', '5'], `${isInvalid('--to <SHARE>', '5')}0%, or a percentage from 0.01% to 100%.`],
    [['risk', '--to', '5%', '--for', '25h'], `${isInvalid('--for <DURATION>', '25h')}a duration from 1s to 24h`],
    [['risk', '--pause', '--abort'], oneOf],
    [['risk', '--for', '2h'], oneOf],
    [['risk', '--reason', 'x'], oneOf],
    [['risk', '--force'], oneOf],
    [['risk', '--abort', '--for', '1h'], '--for is expected with --to or --pause: --abort has no end'],
    [['risk', '--promote', '--to', '5%'], "cannot be used with option '--to <SHARE>'"],
  ])('with %j is wrong usage, in the words of the command line, and no gateway is asked', async (options, said) => {
    const admin = await scriptedAdmin(jsonResponse({}))
    const { code, err } = await runCommand(['shift', ...options, '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain(said)
    expect(admin.received).toEqual([])
  })
})

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
    const promoted = text.replace('http://risk.internal', 'http://risk-next.internal')
    expect(out).toBe(promoted.replace(/ {4}candidate:[\s\S]*$/, ''))
    expect(err).toMatch(
      /^\n\S+gateway.yaml [0-9a-f]{12} → [0-9a-f]{12}\n\nrisk\n {2}endpoints +http:\/\/risk.internal → /,
    )
    expect(err).toContain('  candidate  http://risk-next.internal → (not set)\n')
    expect(err).toContain('warning: the share of the candidate of risk is not known: ')
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('warns of a gateway where not all clients are on the candidate, or where it was taken back', async () => {
    const { live, run } = await bootWithCandidate({ share: '100%' })
    const promote = (...more: readonly string[]) => run('risk', '--promote', '--config', live.file, ...more)

    const whole = await promote('--format', 'json')
    await run('risk', '--to', '25%')
    const part = await promote()
    await run('risk', '--abort', '--reason', 'CHG-4711')
    const aborted = await promote()

    const changes = [{ part: 'upstreams.risk' }, {}]
    expect(JSON.parse(whole.out)).toMatchObject({ group: 'risk', changes, warnings: [] })
    expect([whole.err, whole.code, part.code, aborted.code]).toEqual(['', 0, 0, 0])
    expect(part.err).toContain(`warning: at ${live.admin} the candidate of risk gets 25% of the clients by 127.0.0.1`)
    expect(aborted.err).toContain('the candidate of risk gets nothing: aborted by 127.0.0.1')
  })

  test('warns of a candidate of which no endpoint is up, which `shift` does not recommend', async () => {
    const { live, candidate, run } = await bootWithCandidate({ share: '100%' }, (_, response) =>
      response.writeHead(500).end(),
    )
    for (let i = 0; i < 5; i++) await (await fetch(`${live.url}/risk/asset-valuation`, { method: 'POST' })).text()

    const shown = await run('risk', '--config', live.file)
    const promoted = await run('risk', '--promote', '--config', live.file)

    expect(shown.out).toMatch(
      /no endpoint of the candidate is up; to take its clients back: \S+ \S+lender-gateway\.js shift risk --abort --con/,
    )
    expect(shown.out).not.toContain('--promote')
    expect(promoted.code).toBe(0)
    expect(promoted.err).toContain(
      `warning: at ${live.admin} no endpoint of the candidate of risk is up (${candidate.url} is failing)\n`,
    )
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
    expect(err).toContain('edit the file by hand')
  })
})
