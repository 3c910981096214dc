import type { Tree } from '../contract-node.ts'

/** A schema of OpenAPI 3.0 as one of 3.1. */
interface UpgradedSchema {
  readonly schema: Tree
  /** What cannot be said in 3.1, or was without effect in 3.0 already. */
  readonly lost: readonly string[]
}

/** Upgrades one schema, without those inside it, from OpenAPI 3.0 (§4.7.24 there) to JSON Schema 2020-12. */
export const upgradeSchema = (given: Tree): UpgradedSchema => {
  // In 3.0 what stands beside a reference is ignored.
  if (typeof given.$ref === 'string') {
    const lost = Object.keys(given).filter((key) => key !== '$ref' && !key.startsWith('x-'))
    return { schema: { $ref: given.$ref }, lost: lost.map((key) => `${key} beside $ref`) }
  }
  const { nullable, ...rest } = given
  const schema: Record<string, unknown> = rest
  const lost: string[] = []
  if (nullable === true && typeof schema.type === 'string') schema.type = [schema.type, 'null']
  else if (nullable === true) lost.push('nullable without type')
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    if (schema[flag] === true && schema[bound] !== undefined) {
      schema[flag] = schema[bound]
      delete schema[bound]
    } else delete schema[flag]
  }
  if (schema.example !== undefined) {
    schema.examples = [schema.example]
    delete schema.example
  }
  return { schema, lost }
}
