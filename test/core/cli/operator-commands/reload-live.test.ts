/** The commands `reload` and `rollback` against a gateway that runs. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { runCommand, token } from '../scripted-admin.ts'

const start = async () => {
  const settings: Settings = { admin: { token }, reload: { watch: false, preflight: 'connect' } }
  const { file, admin, edit } = await bootLiveGateway(settings)
  const lender = (...args: readonly string[]) =>
    runCommand([...args, '--admin', admin], { LENDER_GATEWAY_ADMIN_TOKEN: token })
  return {
    file,
    lender,
    edit: (next: Settings | string) => edit(typeof next === 'string' ? next : { ...settings, ...next }),
  }
}

test('is rerouted, and rolled back', async () => {
  const { url } = await httpUpstream()
  const { lender, edit } = await start()

  const first = await lender('rollback')
  edit({ upstreams: { market: url } })
  const second = await lender('reload')
  const third = await lender('reload')
  const fourth = await lender('rollback')
  const status = await lender('status')

  expect(first).toMatchObject({ code: 1, out: expect.stringMatching(/^nothing to roll back: /) })
  expect(second).toMatchObject({ code: 0, err: '' })
  expect(second.out).toMatch(/^applied: [0-9a-f]{12} → [0-9a-f]{12}\n\nmarket\n/)
  expect(second.out).toContain(`\n  endpoints  sandbox → ${url}\n`)
  expect(third.out).toMatch(/^unchanged: /)
  expect(fourth.out).toMatch(/^rolled back: .*\n\nmarket\n/)
  expect(fourth.out).toContain(`\n  endpoints  ${url} → sandbox\n`)
  expect(status.out).toContain('DIFFERS from what runs: it was rolled back; reload takes it again\n')
})

test('runs on when the file is broken, and prints what check prints', async () => {
  const { file, lender, edit } = await start()

  edit(`${readFileSync(file, 'utf8').slice(0, -1)},"bogus":1}`)
  const reload = await lender('reload')
  const check = await runCommand(['check', file])
  const status = await lender('status')

  expect(reload).toMatchObject({ code: 1, out: check.out })
  expect(check.out).toContain('bogus: unknown key')
  expect(status.out).toContain('it was refused, see below\n')
  expect(status.out).toContain('bogus: unknown key')
})

test('holds back an edit whose endpoint cannot be reached, reports it, and takes it by force', async () => {
  const { lender, edit } = await start()
  const url = `http://127.0.0.1:${await freePort()}`

  edit({ upstreams: { market: url } })
  const held = await lender('reload')
  const status = await lender('status')
  const forced = await lender('reload', '--force')
  const after = await lender('status')

  expect(held).toMatchObject({ code: 1, err: expect.stringContaining('it is tried again') })
  expect(held.out).toMatch(
    /^\S+:1:\d+ upstreams\.market\.endpoints: no endpoint of market that the edit brings can be reached\n/,
  )
  expect(held.out).toContain(`    found    ${url} `)
  expect(held.out).toContain('    hint     reload --force takes it all the same\n')
  expect(status.out).toContain('DIFFERS from what runs: it is held back, see below; next try 2')
  expect(status.out).toContain('no endpoint of market that the edit brings can be reached')
  expect(forced).toMatchObject({ code: 0, err: '' })
  expect(after.out).toContain(': says what runs\n')
})
