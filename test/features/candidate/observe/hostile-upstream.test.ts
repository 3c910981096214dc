/** What an upstream that lies can make the comparison keep: so much, and no more, however long it goes on. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { inDrills, testAndDrill } from '../../../helpers/speed.ts'

const mebibyte = 1024 ** 2

testAndDrill('rows, noise and memory are bounded', { timeout: 240_000 }, async () => {
  const child = join(import.meta.dirname, 'hostile-child.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, inDrills ? '6000' : '1200'])
  const { middle, end, rows, noise, others, report } = JSON.parse(stdout)

  expect(rows).toBe(200)
  expect(others).toBeGreaterThan(1000)
  // 200 places of each of the four GETs.
  expect(noise).toBeLessThanOrEqual(4 * 200)
  expect(noise).toBeGreaterThan(200)
  // Rows with eight pairs of two values of a hundred characters each.
  expect(report).toBeLessThan(2 * mebibyte)
  // What half of the rounds have said is some 30 MiB.
  expect(end - middle).toBeLessThan(8 * mebibyte)
})
