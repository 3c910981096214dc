import { expect, test } from 'vitest'
import { ReloadRequests } from '../../../../src/core/runtime/reload/reload-requests.ts'

const asked = { trigger: 'request', force: false, by: null } as const

test('a check that throws fails its own request, and no other one', async () => {
  const requests = new ReloadRequests()
  const planted = new Error('planted')
  const broken = requests.add(asked, () => {
    throw planted
  })
  const sound = requests.add({ ...asked, by: 'anna' }, () => null)

  const shared = requests.take()
  shared?.settle(Promise.resolve({ result: 'unchanged' } as never))

  await expect(broken).rejects.toBe(planted)
  expect(await sound).toEqual({ result: 'unchanged' })
  expect([shared?.by, requests.isEmpty]).toEqual(['anna', true])
})
