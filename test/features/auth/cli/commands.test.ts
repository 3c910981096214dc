import { hash } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../../../core/cli/scripted-admin.ts'
import { fullCommandLine } from '../../../helpers/command-line.ts'

describe('hash-key', () => {
  const run = async (...args: readonly string[]): Promise<string> => {
    let printed = ''
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed += String(text)
      return true
    })
    await fullCommandLine().parseAsync(['hash-key', ...args], { from: 'user' })
    write.mockRestore()
    return printed
  }

  const partsOf = (printed: string): readonly (string | undefined)[] =>
    /^for the client, X-Api-Key: (.*)\.(.*)\nfor its apiKeys: \{ id: "(.*)", sha256: (.*) \}\n$/
      .exec(printed)
      ?.slice(1) ?? []

  test('prints a key of 256 bits, and its hash', async () => {
    const [keyId, secret = '', id, sha256] = partsOf(await run('--id', 'bank-a'))

    expect([keyId, id]).toEqual(['bank-a', 'bank-a'])
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(sha256).toBe(hash('sha256', secret))
  })

  test('makes another key and id each time', async () => {
    const [a, b] = [partsOf(await run()), partsOf(await run())]

    expect(a).toHaveLength(4)
    expect(a.filter((part) => b.includes(part))).toEqual([])
  })

  test.each([[[], 'read'] as const, [['--scope', 'operate'], 'operate'] as const])(
    'prints a token of an operator with %j, and its entry',
    async (args, scope) => {
      const printed = await run('--operator', 'oncall-anna', ...args)

      const [, token = '', digest] =
        /^for the operator, Authorization: Bearer ([\w-]{43})\nfor admin.tokens: \{ name: "oncall-anna", hash: ([0-9a-f]{64}), scope: \w+ \}\n$/.exec(
          printed,
        ) ?? []
      expect(digest).toBe(hash('sha256', token))
      expect(printed).toContain(`scope: ${scope} }`)
    },
  )

  test.each<readonly [args: readonly string[], code: string]>([
    ...['', 'a.b', 'a b', 'x'.repeat(65)].map((id) => [[`--id=${id}`], 'commander.invalidArgument'] as const),
    ...['anna b', '10.1.2.3', 'admin.token'].map((name) => [['--operator', name], 'commander.error'] as const),
    [['--scope', 'read'], 'commander.error'],
    [['--operator', 'anna', '--id', 'bank-a'], 'commander.conflictingOption'],
    [['--operator', 'anna', '--scope', 'admin'], 'commander.invalidArgument'],
  ])('rejects %j', async (args, code) => {
    const command = fullCommandLine()
    command.commands.find((each) => each.name() === 'hash-key')?.configureOutput({ writeErr: () => {} })

    await expect(command.parseAsync(['hash-key', ...args], { from: 'user' })).rejects.toMatchObject({ code })
  })
})

test('a rollback says that clients and keys are those of then where authentication comes back, and so does its help', async () => {
  const changes = [{ part: 'auth', group: null, path: 'auth', from: 'none', to: {} }]
  const body = { result: 'applied', from: '9b02c7d11e55', to: '3f1c0a9be2d4', groups: [], changes, warnings: [] }
  const admin = await scriptedAdmin(jsonResponse(body))

  const done = await runCommand(['rollback', '--admin', admin.url], { LENDER_GATEWAY_ADMIN_TOKEN: token })
  const help = await runCommand(['rollback', '--help'])

  const kept = 'with admin and listen.tls as they are now, auth and clients as they were; '
  expect(done.out).toContain(`9b02c7d11e55 → 3f1c0a9be2d4, ${kept}`)
  expect(help.out).toContain('Where auth was taken out, only admin and listen.tls stay;')
})
