/** Holds docs/deploying.md to what it describes. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { load } from './configurations.ts'
import { execForm, only, stagesOf } from './dockerfile.ts'
import { examples, read, root } from './files.ts'

const page = read('docs/deploying.md')

test('links every example', () => {
  const files = readdirSync(join(root, examples), { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.\w+$/.test(name),
  )

  expect(files.filter((name) => !page.includes(`](../${examples}/${name})`))).toEqual([])
  expect(files.length).toBeGreaterThan(8)
})

test('names base, user and command of the image as the Dockerfile has them', () => {
  const [, image = []] = stagesOf(read('Dockerfile'))

  for (const name of ['FROM', 'USER']) expect(page).toContain(`\`${only(image, name)}\``)
  for (const name of ['ENTRYPOINT', 'CMD']) expect(page).toContain(`\`${execForm(only(image, name)).join(' ')}\``)
})

test('shows what the image warns of when nothing is mounted', () => {
  const [warning] = load('the image').warnings

  expect(page).toContain(`"path":"${warning?.path}","message":"${warning?.message}"`)
})
