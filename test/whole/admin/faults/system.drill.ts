/** Faults of a real process, in file systems of its own, and what an operator reads of them. */
import { expect, test } from 'vitest'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { faults, programFor, startProcess } from './plant.ts'
import { lacks, shows, symptom } from './symptom.ts'

for (const fault of faults.filter(({ number }) => number === 8 || number === 9))
  test.skipIf(programFor(fault) === null)(`${fault.name}: the page, the command and /status say so`, async () => {
    const { admin, fail } = await fault.plant({}, '')
    await lacks(admin, symptom(fault.number))

    await fail()

    await shows(admin, symptom(fault.number))
  })

test('with several workers, what has failed is counted over all of them', async () => {
  const upstream = await httpUpstream()
  const { url, admin } = await startProcess({ workers: 2, upstreams: { market: upstream.url } }, [])
  const sendRequest = async () => (await fetch(`${url}/market/insights`)).status
  expect(await sendRequest()).toBe(200)

  await upstream.close()
  await Promise.all([0, 1, 2, 3, 4, 5].map(async () => expect(await sendRequest()).toBe(502)))

  const { details } = await shows(admin, symptom(1))
  expect(details).toEqual([
    expect.stringContaining('6 failures in a row'),
    expect.stringContaining(`the owner of ${upstream.url} must fix this`),
  ])
})
