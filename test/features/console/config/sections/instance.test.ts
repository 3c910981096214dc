import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { instanceColors } from '../../../../../src/core/config/sections/instance.ts'
import { findProblems, parse, sandbox, validConfig } from '../../../../core/config/helper.ts'

const read = (instance: string) => validConfig(`instance: ${instance}\n${sandbox}`).instance

test('a gateway has no name unless the file gives one', () => {
  expect(validConfig(sandbox).instance).toEqual({ name: null, environment: null, color: 'gray' })
  const given = { name: 'gateway-eu-1', environment: 'pre production', color: 'red' }
  expect(read('{ name: gateway-eu-1, environment: pre production, color: red }')).toEqual(given)
})

test.each([
  ['{ name: "" }', 'instance.name', 'not a name'],
  ['{ name: " a" }', 'instance.name', 'not a name'],
  ['{ name: "<b>" }', 'instance.name', 'not a name'],
  ['{ name: "a\\u202eb" }', 'instance.name', 'not a name'],
  [`{ environment: ${'a'.repeat(41)} }`, 'instance.environment', 'not a name'],
  ['{ environment: 1 }', 'instance.environment', 'the wrong kind of value'],
  ['{ color: green }', 'instance.color', 'unknown value'],
  ['{ color: "#ff0000" }', 'instance.color', 'unknown value'],
  ['{ colour: red }', 'instance.colour', 'this key is now named color'],
  ['{ color: grey }', 'instance.color', 'this value is now named gray'],
])('%s is rejected', (written, path, message) => {
  const [problem] = findProblems(`instance: ${written}\n${sandbox}`)

  expect(problem).toMatchObject({ path, message: expect.stringContaining(message) })
})

test('a color that nothing is shown in is warned of', () => {
  const warnings = (instance: string) => {
    const result = parse(`instance: ${instance}\n${sandbox}`)
    return result.ok ? result.warnings.map(({ path }) => path) : null
  }

  expect(warnings('{ color: red }')).toEqual(['instance.color'])
  expect(warnings('{ color: red, environment: staging }')).toEqual([])
})

test('white is legible on every color that the head may have', () => {
  const css = readFileSync(new URL('../../../../../src/features/console/page/assets/page.css', import.meta.url), 'utf8')
  const contrasts = instanceColors.map((color) => {
    const [, value = ''] = new RegExp(`&\\.${color} {\\s+--instance: (#[0-9a-f]{6});`).exec(css) ?? []
    return [color, contrastWithWhite(value)] as const
  })

  // WCAG 2.2, 1.4.3: 4.5 for text of this size.
  expect(contrasts.filter(([, contrast]) => !(contrast >= 5))).toEqual([])
})

/** Computes the contrast of a color with white, as WCAG 2.2 defines it. */
const contrastWithWhite = (color: string): number => {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05)
}
