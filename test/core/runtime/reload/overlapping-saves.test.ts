/** Which saves are noticed when reloads run into each other. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configText } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

describe('an edit is noticed without any poll', () => {
  const reload = { poll: 'none' }

  test('when it is saved while an earlier one is being read', async () => {
    const live = await bootLiveGateway({ reload })
    let last = 0
    const save = (): void => {
      const prefix = `/save-${++last}`
      writeFileSync(`${live.file}.new`, configText({ reload, listen: { basePath: prefix } }))
      renameSync(`${live.file}.new`, live.file)
    }
    save()
    const saving = setInterval(save, 20)
    const { result } = await live.gateway.reload('request')

    clearInterval(saving)

    expect(result).toBe('applied')
    await expect.poll(() => live.gateway.config.listen.basePath).toBe(`/save-${last}`)
  })

  test('when it mends a secret that a rejected file refers to', async () => {
    const live = await bootLiveGateway({ reload })
    const secrets = mkdtempSync(join(tmpdir(), 'secrets-'))
    onTestFinished(() => rmSync(secrets, { recursive: true }))
    const secret = join(secrets, 'key')
    const market = { endpoints: ['sandbox'], request: { set: { 'X-Api-Key': `file:${secret}` } } }
    live.edit({ upstreams: { market } })
    await live.line(({ msg }) => msg === 'configuration problem')

    writeFileSync(secret, 'swordfish')

    await live.line(({ msg }) => msg === 'configuration applied')
  })
})
