/** What comparisons keep in memory, in a process of its own: no secret, and so much of an upstream that lies. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const heapOf = async (examples: boolean): Promise<{ readonly secrets: readonly string[]; readonly heap: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'compared-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [secretsFile, heapFile] = [join(folder, 'secrets'), join(folder, 'heap')]
  const child = join(import.meta.dirname, 'heap-child.ts')
  const args = ['--expose-gc', child, secretsFile, heapFile, String(examples)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(Number.parseInt(stdout, 10)).toBeGreaterThan(5)
  return { secrets: readFileSync(secretsFile, 'utf8').trim().split('\n'), heap: readFileSync(heapFile, 'latin1') }
}

test('the heap of the process holds no value of a client', { timeout: 120_000 }, async () => {
  const { secrets: planted, heap } = await heapOf(false)

  expect([planted.length, planted.filter((secret) => heap.includes(secret))]).toEqual([40, []])
})

test('with compare.examples the search of the heap finds values', { timeout: 120_000 }, async () => {
  const { secrets: planted, heap } = await heapOf(true)

  expect(planted.some((secret) => heap.includes(secret))).toBe(true)
})

test('rows, noise and memory are bounded, however long an upstream lies', { timeout: 240_000 }, async () => {
  const child = join(import.meta.dirname, 'hostile-child.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, '1200'])
  const { middle, end, rows, noise, others, report } = JSON.parse(stdout)

  expect(rows).toBe(200)
  expect(others).toBeGreaterThan(1000)
  // 200 places of each of the four GETs.
  expect(noise).toBeLessThanOrEqual(4 * 200)
  expect(noise).toBeGreaterThan(200)
  // Rows with eight pairs of two values of a hundred characters each.
  expect(report).toBeLessThan(2 * 1024 ** 2)
  // What half of the rounds have said is some 6 MiB.
  expect(end - middle).toBeLessThan(8 * 1024 ** 2)
})
