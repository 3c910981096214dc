import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { runCommand, scriptedAdmin, jsonResponse as sends } from '../../core/cli/scripted-admin.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway, type LiveGateway } from '../../helpers/live-gateway.ts'
import { tail } from './tailing.ts'

const reject = async ({ url }: LiveGateway, id: string, path = '/market/insights', method = 'POST'): Promise<void> => {
  await (await fetch(url + path, { method, headers: { 'X-Request-Id': id } })).text()
}

describe('tail --rejected', () => {
  test('prints rejected requests as they come, no earlier ones, and survives a restart of the gateway', async () => {
    const port = await freePort()
    const first = await bootLiveGateway({ admin: { port } })
    await reject(first, 'before')
    const followed = tail(first.admin)
    // The command has started when it prints; it does not print earlier rejections.
    let n = 0
    const printed = async (): Promise<string> => {
      await reject(first, `during-${n++}`)
      return followed.out()
    }
    await expect.poll(printed, { interval: 200 }).toContain('during')
    await reject(first, 'alias', '/market/insights/', 'GET')
    await followed.printed(/alias/)
    await first.gateway.close()
    await followed.noted(/nothing listens at .*; the gateway is asked again every second\n$/)
    const second = await bootLiveGateway({ admin: { port } })
    await reject(second, 'second')
    await followed.printed(/second/)

    expect(await followed.interrupt()).toBe(0)
    expect(followed.out()).not.toContain('before')
    expect(followed.out()).toMatch(
      /^2\S+Z {2}404 not-found {2}GET to none of the nine {2}127\.0\.0\.1 {2}it ends with a slash; probably meant: GET \/market\/insights {2}\[request alias\]$/m,
    )
    expect(followed.out()).toMatch(/^2\S+Z {2}405 method-not-allowed {2}POST .*\[request second\]$/m)
    expect(followed.out().match(/request alias/g)).toHaveLength(1)
    expect(followed.err().split('\n').slice(1)).toEqual([
      'lender-gateway: the gateway responds again',
      expect.stringMatching(/^lender-gateway: rejections since 2\S+Z may be missing: the gateway restarted, or/),
      '',
    ])
  })

  test('a gateway that cannot be asked at first is an error, and so is wrong usage', async () => {
    const unreachable = await runCommand(['tail', '--rejected', '--admin', `http://127.0.0.1:${await freePort()}`])
    const never = await runCommand(['tail', '--rejected', '--since', 'yesterday'])

    expect([unreachable.code, never.code]).toEqual([2, 2])
    expect(unreachable.err).toContain('nothing listens at')
    expect(never.err).toContain('--since: a duration such as 10m')
  })

  test('a listener cannot control the terminal, and the command ends quietly when its reader has gone', async () => {
    const evil = '\u001b]0;owned\u0007'
    const names = ['at', 'requestId', 'client', 'clientId', 'method', 'operation', 'endpoint', 'side', 'kind', 'reason']
    const rejection = {
      ...Object.fromEntries(names.map((name) => [name, evil])),
      status: 502,
      fellBack: true,
      traceId: evil,
    }
    // Each time it is asked, it has rejected one more.
    const admin = await scriptedAdmin((response) => {
      const total = admin.received.length
      const rejections = Array.from({ length: total }, (_, n) => ({ ...rejection, requestId: `${evil}${n}` }))
      sends({ rejections: [{ ...rejection, at: '2026-11-21T02:04:58.000Z' }, ...rejections], total: total + 1 })(
        response,
      )
    })
    const followed = tail(admin.url, '--since', '10m')
    await followed.printed(/502/)
    const closed = once(followed.child, 'exit')

    followed.child.stdout?.destroy()

    expect(await closed).toEqual([0, null])
    expect(followed.err()).toBe('')
    expect(followed.out()).toContain(String.raw`\x1b]0;owned\x07`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    expect(followed.out()).not.toMatch(/[\u001b\u0007]/)
  })
})
