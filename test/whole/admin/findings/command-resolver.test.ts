/** Runs commands of findings in a real shell, in another folder, without npm's folders on the PATH. */
import { execFile } from 'node:child_process'
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isMutatingCommand } from '../../../../src/core/admin/commands/command-groups.ts'
import { programCommand, shellQuote } from '../../../../src/core/lib/program.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { findingsOf } from '../faults/symptom.ts'

const run = promisify(execFile)

/** Runs a command as right after a login. */
const inShell = (command: string) => run('sh', ['-c', command], { cwd: '/', env: { PATH: '/usr/bin:/bin' } })

test('the program is its name where that is on the PATH, with the same Node, and else what its name leads to', () => {
  /** Makes a machine with Node and the program, each in a folder. */
  const machine = (programs: string) => {
    const folder = realpathSync(folderWith({ node: '', 'main.ts': '' }))
    const [node, main, bin] = [join(folder, 'node'), join(folder, 'main.ts'), join(folder, programs)]
    mkdirSync(bin, { recursive: true })
    symlinkSync(main, join(bin, 'lender-gateway'))
    symlinkSync(node, join(bin, 'node'))
    return { node, main, path: ['/nowhere', bin].join(delimiter), bin }
  }
  const [own, foreign, npx] = [machine('bin'), machine('bin'), machine('_npx/5eec/node_modules/.bin')]

  expect(programCommand(own)).toBe('lender-gateway')
  // npx alone has put it on the PATH.
  expect(programCommand(npx)).toBe(`${npx.node} ${npx.main}`)
  expect(programCommand({ ...own, node: foreign.node })).toBe(`${foreign.node} ${own.main}`)
  expect(programCommand({ ...own, main: foreign.main })).toBe(`${own.node} ${foreign.main}`)
})

test('words come through a shell as they are', async () => {
  const words = ['plain', 'a b', "it's", '$HOME', '`id`', '*', '']

  expect((await inShell(`printf '%s|' ${words.map(shellQuote).join(' ')}`)).stdout).toBe(`${words.join('|')}|`)
})

test('a command names endpoint and operation as a shell needs it, and reaches a port that the file does not say', async () => {
  const endpoints = ["http://127.0.0.1:1/a;(b)&$HOME'", 'http://127.0.0.1:2']
  const operations = { 'market.insights': { state: 'reject' } }
  const live = await bootLiveGateway({ listen: { basePath: "/v1/it's" }, upstream: { endpoints }, operations })
  const body = { group: 'risk', url: endpoints[0] }
  await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', { body: JSON.stringify(body) })
  const found = await findingsOf(live.admin)
  const drained = found.find(({ cause }) => cause.includes(' drains '))
  const rejected = found.find(({ about }) => about === 'operations.market.insights')

  const { stdout } = await inShell(drained?.command ?? 'false')

  expect(rejected?.command).toContain(shellQuote("/v1/it's/market/insights"))
  expect(stdout).toContain(`${endpoints[0]} of risk takes requests `)
  expect((await findingsOf(live.admin)).filter(({ cause }) => cause.includes(' drains '))).toEqual([])
})

test.each([
  ['lender-gateway endpoint drain risk http://risk-a:8080 --config /etc/gateway.yaml', true],
  ['/usr/bin/node /srv/main.ts reload --config /etc/gateway.yaml', true],
  ['lender-gateway rollback', true],
  ['lender-gateway shift risk --abort --config /etc/gateway.yaml', true],
  ['lender-gateway shift risk --to 25%', true],
  ['lender-gateway shift risk --pause', true],
  ['lender-gateway shift risk --resume', true],
  ['lender-gateway shift risk --config /etc/gateway.yaml', false],
  ['lender-gateway shift report risk', false],
  ['lender-gateway check --online /etc/reload/gateway.yaml', false],
  ['lender-gateway status', false],
])('whether a command changes what runs: %s', (command, changes) => {
  expect(isMutatingCommand(command)).toBe(changes)
})
