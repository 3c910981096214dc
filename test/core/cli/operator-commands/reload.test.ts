import { describe, expect, test } from 'vitest'
import { type ConfigProblem, formatProblems } from '../../../../src/core/config/problem.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../scripted-admin.ts'

const change = (part: string, group: string | null, path: string, from: unknown, to: unknown) => ({
  part,
  group,
  path,
  from,
  to,
})

const applied = {
  result: 'applied',
  from: '9b02c7d11e55',
  to: '3f1c0a9be2d4',
  groups: ['risk', 'market'],
  changes: [
    change('listen', null, 'listen.timeouts.body', '30s', 'none'),
    change(
      'upstreams.risk',
      'risk',
      'upstreams.risk.endpoints',
      ['http://a:8080'],
      ['http://b:8080', { url: 'http://c:8080', weight: 10 }],
    ),
    change('upstreams.risk', 'risk', 'upstreams.risk.request.set.X-Api-Key', '***', null),
    change('upstreams.risk', 'risk', 'upstreams.risk.request.remove', [], ['Cookie']),
    change('operations.risk.asset-valuation', 'risk', 'operations.risk.asset-valuation.deadline', '30s', '10s'),
    change('upstreams.market', 'market', 'upstreams.market.request.set.Y', '***', '***'),
    change('upstreams.market', 'market', 'upstreams.market.request.set.X', 'a b', '\u001b[2J'),
  ],
  warnings: [],
}

const problem: ConfigProblem = {
  file: 'config/gateway.yaml',
  line: 12,
  column: 9,
  path: 'upstreams.market',
  message: 'not a URL',
  expected: 'a URL such as http://risk.internal:8080, or sandbox',
  found: '"market-b:8080"',
}

const refused = {
  title: 'Unprocessable Content',
  status: 422,
  code: 'configuration-refused',
  hash: '9b02c7d11e55',
  problems: [problem, problem],
}

const run = async (command: 'reload' | 'rollback', body: unknown, status = 200, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(jsonResponse(body, status))
  const { code, out, err } = await runCommand([command, '--admin', admin.url, ...args], {
    LENDER_GATEWAY_ADMIN_TOKEN: token,
  })
  expect(admin.received).toMatchObject([{ request: `POST /${command}`, headers: { authorization: `Bearer ${token}` } }])
  return { code, out, err: err.replaceAll(admin.url, 'http://gateway') }
}

describe('reload', () => {
  test('prints both hashes, and what changed for each group', async () => {
    expect(await run('reload', applied)).toEqual({
      code: 0,
      err: '',
      out: `applied: 9b02c7d11e55 → 3f1c0a9be2d4

risk
  endpoints                      http://a:8080 → http://b:8080, http://c:8080 (weight 10)
  request.set.X-Api-Key          (not shown) → (not set)
  request.remove                 (none) → Cookie
  risk.asset-valuation.deadline  30s → 10s

market
  request.set.Y  changed, not shown
  request.set.X  "a b" → \\x1b[2J

for all groups
  listen.timeouts.body  30s → none
`,
    })
  })

  test('prints warnings as check does, below the result', async () => {
    const { code, out } = await run('reload', { ...applied, changes: [], warnings: [problem] })

    expect({ code, out }).toEqual({
      code: 0,
      out: `applied: 9b02c7d11e55 → 3f1c0a9be2d4\nwarning: ${formatProblems([problem]).replace('1 problem\n', '')}`,
    })
  })

  test('reports that the file is what runs', async () => {
    expect(await run('reload', { ...applied, result: 'unchanged', to: applied.from, changes: [] })).toEqual({
      code: 0,
      err: '',
      out: 'unchanged: 9b02c7d11e55 runs, and is what the file says\n',
    })
  })

  test('exits with 1 when the file is rejected, and prints the problems as check does', async () => {
    expect(await run('reload', refused, 422)).toEqual({
      code: 1,
      out: formatProblems([problem, problem]),
      err: 'lender-gateway: http://gateway refuses it; 9b02c7d11e55 runs on\n',
    })
  })

  test('reports that an edit whose endpoints were not reached is tried again', async () => {
    const held = { ...refused, code: 'endpoints-not-reached', nextTry: '2026-11-21T02:05:01.000Z', problems: [problem] }

    expect(await run('reload', held, 422)).toEqual({
      code: 1,
      out: formatProblems([problem]),
      err: 'lender-gateway: http://gateway refuses it; 9b02c7d11e55 runs on, and it is tried again and again while the file says so\n',
    })
  })

  test('--force requests it all the same', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ...applied, forced: true, changes: [] }))

    const { code, out } = await runCommand(['reload', '--force', '--admin', admin.url])

    expect({ code, out }).toEqual({ code: 0, out: 'applied: 9b02c7d11e55 → 3f1c0a9be2d4\n' })
    expect(admin.received).toMatchObject([{ request: 'POST /reload?force' }])
  })

  test.each([
    [200, applied, 0],
    [422, refused, 1],
  ])('prints JSON for programs, as the gateway sends it: %i', async (status, body, code) => {
    const ran = await run('reload', body, status, '--format', 'json')

    expect({ code: ran.code, out: JSON.parse(ran.out) }).toEqual({ code, out: body })
  })

  test.each([
    ['changes that are none', { ...applied, changes: 'many' }, 200, 'a list is expected at changes'],
    ['a refusal without a problem', { hash: '9b02c7d11e55' }, 422, 'a list is expected at problems'],
    [
      'a problem without a line',
      { hash: 'a', problems: [{ ...problem, line: null }] },
      422,
      'a number is expected at problems[0].line',
    ],
    ['what only a rollback answers', { code: 'conflict' }, 409, 'text is expected at hash'],
  ])('exits with 2 when the response is not a gateway’s: %s', async (_what, body, status, message) => {
    const { code, out, err } = await run('reload', body, status)

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(
      `lender-gateway: http://gateway answers what this version does not understand: ${message}; compare the versions\n`,
    )
  })
})

describe('rollback', () => {
  test('prints what runs again', async () => {
    const changes = [change('upstreams.market', 'market', 'upstreams.market.endpoints', ['sandbox'], ['http://a'])]

    expect(await run('rollback', { ...applied, changes })).toEqual({
      code: 0,
      err: '',
      out: `rolled back: 9b02c7d11e55 → 3f1c0a9be2d4, with clients, certificates, keys and tokens as they are now; the file is left alone, and reload takes it again

market
  endpoints  sandbox → http://a
`,
    })
  })

  test('says that an edit that was refused is not what was undone', async () => {
    const { out } = await run('rollback', { ...applied, neverRan: '2026-11-21T02:04:10.000Z', changes: [] })

    expect(out).toBe(
      'rolled back: 9b02c7d11e55 → 3f1c0a9be2d4, with clients, certificates, keys and tokens as they are now; the edit that was refused at 2026-11-21T02:04:10.000Z never ran, so it is not what was undone\n',
    )
  })

  test.each([
    [
      'there is nothing to go back to',
      'nothing-to-roll-back',
      'nothing to roll back: what runs is the first configuration since the start',
    ],
    [
      'only what is kept differs',
      'nothing-to-roll-back',
      'nothing to roll back: the configuration before differs only in what a rollback leaves as it is: clients, certificates, keys and tokens',
    ],
    ['it would switch something off', 'switches-off', 'the rollback would switch off what is on now: auth'],
  ])('exits with 1 and the words of the gateway when %s', async (_, code, detail) => {
    expect(await run('rollback', { code, detail, status: 409 }, 409)).toEqual({ code: 1, err: '', out: `${detail}\n` })
  })

  test('--force requests it all the same, and prints what is off', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ...applied, forced: true, switchedOff: ['auth'], changes: [] }))

    const { code, out } = await runCommand(['rollback', '--force', '--admin', admin.url])

    expect({ code, out }).toEqual({
      code: 0,
      out: `rolled back: 9b02c7d11e55 → 3f1c0a9be2d4, with clients, certificates, keys and tokens as they are now; the file is left alone, and reload takes it again
switched off: auth
`,
    })
    expect(admin.received).toMatchObject([{ request: 'POST /rollback?force' }])
  })
})
