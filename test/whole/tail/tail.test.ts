import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { runCommand, scriptedAdmin, jsonResponse as sends } from '../../core/cli/scripted-admin.ts'
import { type Tail, tailAll } from '../../features/tail/tailing.ts'
import { bootLiveGateway, type LiveGateway } from '../../helpers/live-gateway.ts'
import { part, test, testAndDrill } from '../../helpers/speed.ts'

const secret = 'A'.repeat(43)

describe('tail without an option', () => {
  const get = async ({ url }: LiveGateway, id: string, path = '/market/insights', key = 'a'): Promise<void> => {
    await (await fetch(url + path, { headers: { 'X-Request-Id': id, 'X-Api-Key': `k-${key}.${secret}` } })).text()
  }
  const clients = ['a', 'b'].map((name) => ({
    id: `bank-${name}`,
    operations: 'all',
    apiKeys: [{ id: `k-${name}`, sha256: createHash('sha256').update(secret).digest('hex') }],
  }))
  const keyed = { auth: { methods: ['apiKey'] }, clients }

  /** Asks until the command has printed a first request: from then on it watches. */
  const watched = async (live: LiveGateway, ...args: readonly string[]): Promise<Tail> => {
    const followed = tailAll(live.admin, ...args)
    let n = 0
    const printed = async (): Promise<string> => {
      await get(live, `first-${n++}`)
      return followed.out()
    }
    await expect.poll(printed, { timeout: 30_000, interval: 200 }).toContain('first-')
    return followed
  }

  testAndDrill.each(part([1, 2]))(
    'prints what is served and what is rejected, as it ends, and with --since what was rejected before: workers %i',
    async (workers) => {
      const live = await bootLiveGateway({ ...keyed, workers })
      await get(live, 'before')
      await get(live, 'earlier', '/market/insights/')
      const followed = await watched(live, '--since', '10m')

      await get(live, 'served')
      await get(live, 'rejected', '/market/insights/')
      await followed.printed(/served/)
      await followed.printed(/rejected/)

      expect(await followed.interrupt()).toBe(0)
      expect(followed.out()).not.toContain('before')
      expect(followed.out()).toContain('[request earlier]')
      expect(followed.out()).toMatch(
        /^2\S+Z {2}200 {2}GET market\.insights {2}127\.0\.0\.1 \(bank-a\) {2}[\d.]+ms, at sandbox {2}\[request served/m,
      )
      expect(followed.out()).toMatch(/^2\S+Z {2}404 not-found {2}GET to none of the nine .* \[request rejected\]$/m)
      expect(followed.out().match(/request served/g)).toHaveLength(1)
    },
  )

  test('prints those of one client, and of one operation, as JSON, a line each', async () => {
    const live = await bootLiveGateway(keyed)
    const followed = await watched(live, '--client', 'bank-a', '--operation', 'market.insights', '--format', 'json')

    await get(live, 'other-client', '/market/insights', 'b')
    await get(live, 'other-operation', '/leads/pipeline')
    await get(live, 'wanted')
    await followed.printed(/wanted/)

    expect(await followed.interrupt()).toBe(0)
    expect(followed.out()).not.toContain('other')
    const lines = followed.out().trimEnd().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      ...{ requestId: 'wanted', operation: 'market.insights', status: 200, kind: null, clientId: 'bank-a' },
    })
  })

  test('a gateway of an earlier version, which cannot be watched, is an error', async () => {
    const admin = await scriptedAdmin(sends({ title: 'Not Found', status: 404, code: 'not-found' }, 404))

    const { code, err } = await runCommand(['tail', '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('404')
  })
})
