/** The commands `reload` and `rollback` against a gateway that runs. */
import { expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { runCommand, token } from '../scripted-admin.ts'

test('an edit is taken, rolled back, held back while its endpoint cannot be reached, and taken by force', async () => {
  const { url } = await httpUpstream()
  const gone = `http://127.0.0.1:${await freePort()}`
  const settings: Settings = { admin: { token }, reload: { watch: false, preflight: 'connect' } }
  const { admin, edit } = await bootLiveGateway(settings)
  const lender = (...args: readonly string[]) =>
    runCommand([...args, '--admin', admin], { LENDER_GATEWAY_ADMIN_TOKEN: token })

  const tooEarly = await lender('rollback')
  edit({ ...settings, upstreams: { market: url } })
  const [applied, unchanged] = [await lender('reload'), await lender('reload')]
  const [back, behind] = [await lender('rollback'), await lender('status')]
  edit({ ...settings, upstreams: { market: gone } })
  const [held, waiting] = [await lender('reload'), await lender('status')]
  const [forced, after] = [await lender('reload', '--force'), await lender('status')]

  expect(tooEarly).toMatchObject({ code: 1, out: expect.stringMatching(/^nothing to roll back: /) })
  expect(applied).toMatchObject({ code: 0, err: '' })
  expect(applied.out).toMatch(/^applied: [0-9a-f]{12} → [0-9a-f]{12}\n\nmarket\n/)
  expect(applied.out).toContain(`\n  endpoints  sandbox → ${url}\n`)
  expect(unchanged.out).toMatch(/^unchanged: /)
  expect(back.out).toMatch(/^rolled back: .*\n\nmarket\n/)
  expect(back.out).toContain(`\n  endpoints  ${url} → sandbox\n`)
  expect(behind.out).toContain(
    'DIFFERS from the running configuration: rolled back; apply it again with: lender-gateway reload\n',
  )
  expect(held).toMatchObject({ code: 1, err: expect.stringContaining('it is tried again') })
  const why = 'no new endpoint of market can be reached\n'
  expect(held.out).toMatch(/^\S+:1:\d+ upstreams\.market\.endpoints: /)
  for (const line of [why, `    found    ${gone} `, '    hint     to apply it anyway: lender-gateway reload --force\n'])
    expect(held.out).toContain(line)
  expect(waiting.out).toContain('DIFFERS from the running configuration: held back, see below; next try 2')
  expect(waiting.out).toContain(why)
  expect(forced).toMatchObject({ code: 0, err: '' })
  expect(after.out).toContain(': same as the running configuration\n')
})
