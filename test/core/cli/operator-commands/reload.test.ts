import { describe, expect, test } from 'vitest'
import { type ConfigProblem, formatProblems } from '../../../../src/core/config/problem.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../scripted-admin.ts'

const change = (part: string, group: string | null, path: string, from: unknown, to: unknown) => ({
  ...{ part, group, path, from, to },
})
const ofRisk = (path: string, from: unknown, to: unknown) =>
  change('upstreams.risk', 'risk', `upstreams.risk.${path}`, from, to)
const ofMarket = (path: string, from: unknown, to: unknown) =>
  change('upstreams.market', 'market', `upstreams.market.${path}`, from, to)
const deadline = 'operations.risk.asset-valuation.deadline'

const applied = {
  ...{ result: 'applied', from: '9b02c7d11e55', to: '3f1c0a9be2d4', groups: ['risk', 'market'], warnings: [] },
  changes: [
    change('listen', null, 'listen.timeouts.body', '30s', 'none'),
    ofRisk('endpoints', ['http://a:8080'], ['http://b:8080', { url: 'http://c:8080', weight: 10 }]),
    ofRisk('request.set.X-Api-Key', '***', null),
    ofRisk('request.remove', [], ['Cookie']),
    change('operations.risk.asset-valuation', 'risk', deadline, '30s', '10s'),
    ofMarket('request.set.Y', '***', '***'),
    ofMarket('request.set.X', 'a b', '\u001b[2J'),
  ],
}

const problem: ConfigProblem = {
  ...{ file: 'config/gateway.yaml', line: 12, column: 9, path: 'upstreams.market', message: 'not a URL' },
  ...{ expected: 'a URL such as http://risk.internal:8080, or sandbox', found: '"market-b:8080"' },
}

const rejected = {
  ...{ title: 'Unprocessable Content', status: 422, code: 'configuration-rejected', hash: '9b02c7d11e55' },
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

  const kept = '9b02c7d11e55'
  const held = { ...rejected, code: 'endpoints-not-reached', nextTry: '2026-11-21T02:05:01.000Z' }
  const warned = `applied: ${kept} → 3f1c0a9be2d4\nwarning: ${formatProblems([problem]).replace('1 problem\n', '')}`
  const rejects = `lender-gateway: http://gateway rejects the configuration; ${kept} runs on`
  const all = formatProblems([problem, problem])
  const again = ', and it is tried again and again while the file says so'

  test.each<[string, object, number, { code: number; out: string; err: string }]>([
    ['warnings', { ...applied, changes: [], warnings: [problem] }, 200, { code: 0, err: '', out: warned }],
    [
      'that the file is the running configuration',
      { ...applied, result: 'unchanged', to: kept, changes: [] },
      200,
      { code: 0, err: '', out: `unchanged: the file is the running configuration (${kept})\n` },
    ],
    ['the problems of a file that is rejected', rejected, 422, { code: 1, err: `${rejects}\n`, out: all }],
    ['that an edit is tried again', held, 422, { code: 1, err: `${rejects}${again}\n`, out: all }],
  ])('prints %s', async (_, body, status, expected) => {
    expect(await run('reload', body, status)).toEqual(expected)
  })

  test('--force requests it all the same', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ...applied, forced: true, changes: [] }))

    const { code, out } = await runCommand(['reload', '--force', '--admin', admin.url])

    expect({ code, out }).toEqual({ code: 0, out: 'applied: 9b02c7d11e55 → 3f1c0a9be2d4\n' })
    expect(admin.received).toMatchObject([{ request: 'POST /reload?force' }])
  })

  test.each([
    [200, applied, 0],
    [422, rejected, 1],
  ])('prints JSON for programs, as the gateway sends it: %i', async (status, body, code) => {
    const ran = await run('reload', body, status, '--format', 'json')

    expect({ code: ran.code, out: JSON.parse(ran.out) }).toEqual({ code, out: body })
  })

  const lineless = { hash: 'a', problems: [{ ...problem, line: null }] }

  test.each([
    ['changes that are none', { ...applied, changes: 'many' }, 200, 'a list is expected at changes'],
    ['a rejection without a problem', { hash: '9b02c7d11e55' }, 422, 'a list is expected at problems'],
    ['a problem without a line', lineless, 422, 'a number is expected at problems[0].line'],
    ['a code that only a rollback has', { code: 'conflict' }, 409, 'text is expected at hash'],
  ])('exits with 2 when the response is not a gateway’s: %s', async (_what, body, status, message) => {
    const { code, out, err } = await run('reload', body, status)

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(
      `lender-gateway: http://gateway responds in a form that this version does not know: ${message}; compare the versions\n`,
    )
  })
})

describe('rollback', () => {
  const back = 'rolled back: 9b02c7d11e55 → 3f1c0a9be2d4, with clients, certificates, keys and tokens as they are now; '
  const alone = 'the file stays as it is; apply it again with: lender-gateway reload\n'
  const changes = [ofMarket('endpoints', ['sandbox'], ['http://a'])]
  const neverRan =
    'the edit that was rejected at 2026-11-21T02:04:10.000Z never took effect, so the rollback has not undone it\n'

  test.each([
    ['what runs again', { changes }, `${alone}\nmarket\n  endpoints  sandbox → http://a\n`],
    ['that it has not undone a rejected edit', { neverRan: '2026-11-21T02:04:10.000Z', changes: [] }, neverRan],
  ])('prints %s', async (_, more, out) => {
    expect(await run('rollback', { ...applied, ...more })).toEqual({ code: 0, err: '', out: back + out })
  })

  test.each([
    ['nothing-to-roll-back', 'nothing to roll back: the running configuration is the first since the start'],
    ['switches-off', 'the rollback would switch off: auth'],
  ])('exits with 1 and the words of the gateway: %s', async (code, detail) => {
    expect(await run('rollback', { code, detail, status: 409 }, 409)).toEqual({ code: 1, err: '', out: `${detail}\n` })
  })

  test('--force requests it all the same, and prints what is off', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ...applied, forced: true, switchedOff: ['auth'], changes: [] }))

    const { code, out } = await runCommand(['rollback', '--force', '--admin', admin.url])

    expect({ code, out }).toEqual({ code: 0, out: `${back}${alone}switched off: auth\n` })
    expect(admin.received).toMatchObject([{ request: 'POST /rollback?force' }])
  })
})
