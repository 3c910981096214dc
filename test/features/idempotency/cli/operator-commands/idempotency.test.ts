import { expect, test } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin } from '../../../../core/cli/scripted-admin.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'
import { once, send } from '../../wire/keyed-post.ts'

test('show prints a key; forget rejects it without --yes, and forgets it with --yes', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, ...once })
  await send(live.port, 'k-1', { fields: ['X-Request-Id', 'first'] })
  const key = ['k-1', '--operation', 'valuation.score', '--address', '127.0.0.1', '--admin', live.admin]
  const run = (action: string, ...more: readonly string[]) => runCommand(['idempotency', action, ...key, ...more])

  const shown = await run('show')
  const asked = await run('forget')
  const forgotten = await run('forget', '--yes')
  const gone = await run('show')
  const again = await run('forget', '--yes')
  const wrong = await runCommand(['idempotency', 'show', 'k-1', '--address', '127.0.0.1', '--admin', live.admin])

  const time = '\\d{4}-[^ ,]*Z'
  expect(shown).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      `^the first request with this key was processed; its id is first, it came at ${time}, remembered until ${time}, \\d+ bytes of response are stored\n$`,
    ),
  })
  expect(asked).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/ has not forgotten it: .*--yes/) })
  expect(forgotten).toMatchObject({
    code: 0,
    out: 'the key is forgotten, a request with it is forwarded; the id of the first was first\n',
  })
  expect(gone).toMatchObject({
    code: 0,
    out: 'the gateway has no record of this key: a request with it is forwarded\n',
  })
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('no record of this key') })
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('--operation') })
})

test.each([
  ['neither', []],
  ['both', ['--client', 'bank-a', '--address', '192.0.2.7']],
])('a key of %s a client and an address is wrong usage, and no gateway is asked', async (_which, owner) => {
  const admin = await scriptedAdmin(jsonResponse({}))
  const key = ['k-1', '--operation', 'valuation.score', '--admin', admin.url]

  const { code, err } = await runCommand(['idempotency', 'show', ...key, ...owner])

  expect({ code, err }).toEqual({
    code: 2,
    err: 'lender-gateway: either --client or --address is expected: whose key it is\n',
  })
  expect(admin.received).toEqual([])
})
