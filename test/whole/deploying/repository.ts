import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { needProgram } from '../../helpers/program.ts'
import { blocksBelow, textsOf } from './documented-steps.ts'
import { read, root } from './files.ts'

export const git = await needProgram('git')

/** Takes the shell blocks of a page below a heading. */
export const commandsBelow = (page: string, heading: string): readonly string[] =>
  textsOf(blocksBelow(page, heading), 'sh')

/** Makes a repository with the versions 0.1.0 and 0.2.0 of these sources, on ports and an upstream of the test's. */
export const makeRepository = (folder: string, site: (text: string) => string = (text) => text): void => {
  const config = 'config/examples/systemd'
  for (const path of ['src', 'config']) cpSync(join(root, path), join(folder, path), { recursive: true })
  for (const name of ['gateway.yaml', 'lender-gateway.socket'])
    writeFileSync(join(folder, config, name), site(read(`${config}/${name}`)))
  const shared = ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@test', '-c', 'init.defaultBranch=main']
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } // no hooks and signatures of the machine's
  const ask = (...args: readonly string[]) => execFileSync(git.path ?? '', [...shared, ...args], { env, stdio: 'pipe' })
  ask('init')
  for (const version of ['0.1.0', '0.2.0']) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...JSON.parse(read('package.json')), version }))
    ask('add', '.')
    ask('commit', '--message', version)
    ask('tag', version)
  }
}
