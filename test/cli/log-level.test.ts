import { describe, expect, test } from 'vitest'
import { bootLive } from '../helpers/live-gateway.ts'
import { json, run, scriptedAdmin } from './gateway/helper.ts'
import { calm, shown } from './gateway/statuses.ts'

describe('log-level', () => {
  test('has more logged for a while, tells so, and puts it back', async () => {
    const live = await bootLive({ log: { level: 'warn' } })
    const order = (...args: readonly string[]) => run(['log-level', ...args, '--admin', live.admin])

    const before = await order()
    const set = await order('debug', '--for', '10m')
    const during = await order()
    const back = await order('back')

    expect(before).toEqual({ code: 0, err: '', out: 'the log is written at warn, as the file says\n' })
    expect(set).toMatchObject({ code: 0, err: '' })
    expect(set.out).toMatch(/^the log is written at debug until 2\d{3}-.*Z, then as the file says\n$/)
    expect(during.out).toMatch(
      /^the log is written at debug by an operator until 2\d{3}-\S+Z, (9m|10m)( \d+s)? left, then as the file says\n$/,
    )
    expect(back).toMatchObject({ code: 0, out: 'the log is written as the file says\n' })
  })

  test('prints JSON for programs', async () => {
    const live = await bootLive()

    const set = await run(['log-level', 'debug', '--admin', live.admin, '--format', 'json'])
    const told = await run(['log-level', '--admin', live.admin, '--format', 'json'])

    expect(JSON.parse(set.out)).toEqual({ level: 'debug', until: expect.any(String) })
    expect(JSON.parse(told.out)).toEqual(JSON.parse(set.out))
  })

  test('says why an order is not accepted', async () => {
    const live = await bootLive()

    const { code, err } = await run(['log-level', 'debug', '--for', '25h', '--admin', live.admin])

    expect(code).toBe(1)
    expect(err).toContain('ttl is expected to be a duration from 1s to 24h')
  })

  test('an unknown level is wrong usage, and nobody is asked', async () => {
    const admin = await scriptedAdmin(json({}))

    const { code, err } = await run(['log-level', 'verbose', '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('Allowed choices are fatal, error, warn, info, debug, trace, silent, back')
    expect(admin.asked).toEqual([])
  })

  test('an older gateway does not tell', async () => {
    const admin = await scriptedAdmin(json(calm))

    const { code, err } = await run(['log-level', '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('is of a version that does not tell at which level it logs')
  })

  test('status shows an order beside the lines that were dropped', async () => {
    const { out } = await shown({ ...calm, log: { dropped: 0, level: 'debug', until: '2026-11-21T02:10:00.000Z' } })

    expect(out).toContain(
      'log      no lines dropped; written at debug by an operator until 2026-11-21T02:10:00Z, 5m left\n',
    )
  })
})
