/** What `status` and the page say of a contract that leaves operations out: once, and in one line. */
import { expect, test } from 'vitest'
import { runCommand } from '../../../../core/cli/scripted-admin.ts'
import { contractFile } from '../../../../helpers/contract.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'

const warning = '7 of the nine are not in the contract: nothing of them is checked'

test('operations that the contract leaves out are one line of status, and one item of the page', async () => {
  const live = await bootLiveGateway({ contract: { file: contractFile() } })

  const { out } = await runCommand(['status', '--admin', live.admin])
  const page = await (await fetch(live.admin)).text()

  const about = out
    .split('\n')
    .filter((line) => /not in the contract|does not name|NOT CHECKED|inventory\.sync/.test(line))
  expect(about).toEqual([expect.stringMatching(new RegExp(`^warning: \\S+ paths: ${warning}$`))])
  expect(page.split(warning)).toHaveLength(2)
})

test('contract report names them in one line', async () => {
  const live = await bootLiveGateway({ contract: { file: contractFile() } })

  const { out } = await runCommand(['contract', 'report', '--admin', live.admin])

  expect(out.split('\n').filter((line) => line.includes('inventory.sync'))).toEqual([
    expect.stringMatching(/^NOT CHECKED, since the contract does not name them: .*financing\.pre-approval, /),
  ])
})
