/** No command is sent to a guessed gateway. */
import { expect, test } from 'vitest'
import { configFileWith, runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith } from '../../core/config/helper.ts'
import { shareLiveGateway } from '../../helpers/live-gateway.ts'

test.each([
  'operation reject market.insights',
  'endpoint drain market http://market.internal:8080',
  'rollback',
  'reload --force',
  'operation serve market.insights',
])('%s is not sent where there is no file, and names the options', async (command) => {
  expect(await runCommand(command.split(' '), {}, { cwd: folderWith({}) })).toEqual({
    code: 2,
    out: '',
    err: 'lender-gateway: config/gateway.yaml cannot be read: no such file, so the command may reach another gateway: give --config FILE or --admin URL\n',
  })
})

test('a command is not sent when admin.port of the file cannot be read', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as a file has it
  const config = configFileWith('admin: { port: "${NOWHERE}" }\n')

  const { code, err } = await runCommand(['operation', 'reject', 'market.insights', '--config', config])

  expect(code).toBe(2)
  expect(err).toContain('so the command may reach another gateway: give --config FILE or --admin URL\n')
})

const live = await shareLiveGateway()
const other = (): string => configFileWith(`admin: { port: ${new URL(live.admin).port}, hosts: 7 }\n`)

test.each([
  ['to --admin, without a file', () => ['--admin', live.admin]],
  ['when other keys of admin cannot be used', () => ['--config', other()]],
])('a command is sent %s', async (_, target) => {
  const args = ['operation', 'reject', 'market.insights', ...target()]

  expect((await runCommand(args, {}, { cwd: folderWith({}) })).code).toBe(0)
})

test('a command that only reads asks the default address, where there is no file', async () => {
  const { code, err } = await runCommand(['status'], {}, { cwd: folderWith({}) })

  // Whether a gateway listens there or not: it was asked.
  expect([0, 2]).toContain(code)
  expect(err).toContain('http://127.0.0.1:9901')
})
