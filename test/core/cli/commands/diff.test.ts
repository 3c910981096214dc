import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { formatProblems } from '../../../../src/core/config/problem.ts'
import { configText } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { drill, part, test, testAndDrill } from '../../../helpers/speed.ts'
import { findProblems, validConfig } from '../../config/helper.ts'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin, token } from '../scripted-admin.ts'
import { endpointStatusWith, healthyStatus, upstreamStatusWith } from '../status-fixtures.ts'

const text = (market: unknown, key = 'hunter2'): string =>
  configText({
    upstreams: {
      market,
      risk: { endpoints: ['http://risk'], request: { set: { 'X-Api-Key': `\${NOBODY_SETS_THIS:-${key}}` } } },
    },
  })

const runs = reportConfig(validConfig(text('http://a')))

const down = { inFlight: 3, state: 'down', since: '2026-11-21T02:04:00.000Z', reason: 'connection refused' }
const { config: _, ...well } = healthyStatus
const standing = {
  ...well,
  config: { ...runs.config, ...healthyStatus.config },
  upstreams: { ...healthyStatus.upstreams, market: upstreamStatusWith(endpointStatusWith('http://a', down)) },
}

const diff = async (body: unknown, file: string, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(jsonResponse(body))
  const { code, out, err } = await runCommand(['diff', file, '--admin', admin.url, ...args])
  return {
    code,
    asked: admin.received.map(({ request }) => request),
    err: err.replaceAll(admin.url, 'http://gateway'),
    out: out.replaceAll(file, 'FILE'),
  }
}

describe('diff', () => {
  test('exits with 0 when the file is what runs', async () => {
    expect(await diff(runs, configFileWith(text('http://a')))).toEqual({
      ...{
        code: 0,
        asked: ['GET /config'],
        err: '',
        out: `no difference: FILE is the running configuration (hash ${runs.hash})\n`,
      },
    })
  })

  test('exits with 1 when it differs, and prints the changes group by group', async () => {
    const next = text('http://b')

    expect(await diff(runs, configFileWith(next))).toMatchObject({
      code: 1,
      err: '',
      out: `running ${runs.hash} → FILE ${validConfig(next).hash}

market
  endpoints  http://a → http://b
`,
    })
  })

  test('shows that a secret differs, and never the secret', async () => {
    const { code, out, err } = await diff(runs, configFileWith(text('http://a', 'hunter3')))

    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out).toMatch(/\n\nrisk\n {2}.*changed, not shown\n$/)
    expect(out).not.toContain('hunter')
  })

  drill('prints JSON for programs', async () => {
    const next = validConfig(text('http://b'))
    const file = configFileWith(text('http://b'))

    const { code, out } = await diff(runs, file, '--format', 'json')

    expect(code).toBe(1)
    const path = 'upstreams.market.endpoints'
    expect(JSON.parse(out)).toEqual({
      ...{ same: false, file: 'FILE', from: runs.hash, to: next.hash, problems: [] },
      changes: [{ part: 'upstreams.market', group: 'market', path, from: ['http://a'], to: ['http://b'] }],
    })
  })

  test('exits with 1 when the file has problems, prints them as check does, and asks no gateway', async () => {
    const broken = 'lisen: {}'
    const file = configFileWith(broken)
    const problems = findProblems(broken, {}, 'FILE')

    expect(await diff(runs, file)).toEqual({ code: 1, asked: [], err: '', out: formatProblems(problems) })
    const { code, out } = await diff(runs, file, '--format', 'json')
    expect({ code, out: JSON.parse(out) }).toEqual({
      code: 1,
      out: { same: null, file: 'FILE', from: null, to: null, changes: [], problems },
    })
  })

  test('exits with 2 when the file cannot be read', async () => {
    const file = configFileWith('')
    rmSync(file)

    expect(await diff(runs, file)).toMatchObject({
      code: 2,
      asked: [],
      out: expect.stringContaining('the file cannot be read'),
    })
  })

  drill('names another version of the gateway, whose report cannot be compared', async () => {
    const { code, out } = await diff({ ...runs, hash: '000000000000' }, configFileWith(text('http://a')))

    expect(code).toBe(1)
    expect(out).toMatch(/\n\nnothing that can be shown: the gateway is of another version\n$/)
  })

  testAndDrill.each(
    part([
      ['a list for the configuration', { ...runs, config: [] }, 'a map is expected at config'],
      ['digests that are none', { ...runs, digests: { listen: 1 } }, 'text is expected at digests.listen'],
      ['no hash', {}, 'text is expected at hash'],
    ]),
  )('exits with 2 when the response is not a gateway’s: %s', async (_what, body, message) => {
    expect(await diff(body, configFileWith(text('http://a')))).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(message),
    })
  })
})

describe('the gateway that is asked', () => {
  test('is the one that FILE names, with its token', async () => {
    const admin = await scriptedAdmin(jsonResponse(runs))

    await runCommand(['diff', configFileWith(configText({ admin: { port: admin.port, token } }))])

    expect(admin.received).toMatchObject([{ headers: { authorization: `Bearer ${token}` } }])
  })

  drill('or the one that --config names, even when that is the default file', async () => {
    const admin = await scriptedAdmin(jsonResponse(runs))
    const config = configFileWith(configText({ admin: { port: admin.port } }))

    await runCommand(['diff', configFileWith(configText({ admin: { port: 1 } })), '--config', config])
    const { out } = await runCommand(['diff', '--config', config])

    expect(admin.received).toHaveLength(2)
    expect(out).toContain(config)
  })
})

test('a real gateway and a file are compared, and secrets stay where they are', async () => {
  const { file, folder, admin, edit } = await bootLiveGateway()
  edit(text('sandbox'))
  await fetchAdmin(`${admin}/reload`, 'POST')
  const next = join(folder, 'next.yaml')
  writeFileSync(next, text('http://b', 'hunter3'))
  const compare = (other: string, ...args: readonly string[]) => runCommand(['diff', other, '--admin', admin, ...args])

  const [same, differs, asJson] = [await compare(file), await compare(next), await compare(next, '--format', 'json')]

  expect(same).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^no difference: /) })
  expect(differs).toMatchObject({ code: 1, err: '' })
  expect(differs.out).toMatch(/\n\nmarket\n {2}endpoints {2}sandbox → http:\/\/b\n/)
  expect(differs.out).toMatch(/\n\nrisk\n {2}.*changed, not shown\n/)
  expect(asJson.out + differs.out).not.toContain('hunter')
})

describe('diff --live', () => {
  test('shows the present state of the groups that differ, and of no other', async () => {
    const { code, asked, out } = await diff({ ...runs, ...standing }, configFileWith(text('http://b')), '--live')

    expect(code).toBe(1)
    expect(asked).toEqual(['GET /config', 'GET /status'])
    // The listener sends the same response to both requests, so that the configuration has keys of the status as well.
    expect(out).toContain('\nmarket\n  endpoints  http://a → http://b\n')
    expect(out).toMatch(
      /\n\njust now\n\ngroup +endpoint .*\nmarket +http:\/\/a +100 +3 +DOWN since 2026-11-21T02:04:00Z, 1m ago: connection refused\n$/,
    )
  })

  drill('and of groups that do not differ, nothing', async () => {
    const { out } = await diff({ ...runs, ...standing }, configFileWith(text('http://a')), '--live')

    expect(out).toBe(`no difference: FILE is the running configuration (hash ${runs.hash})\n`)
  })

  drill('JSON has it by group', async () => {
    const { out } = await diff({ ...runs, ...standing }, configFileWith(text('http://b')), '--live', '--format', 'json')

    expect(JSON.parse(out)).toMatchObject({ same: false, live: { market: { endpoints: [{ inFlight: 3 }] } } })
    expect(Object.keys(JSON.parse(out).live)).toEqual(['market'])
  })
})
