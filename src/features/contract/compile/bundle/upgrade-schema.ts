import { asPlainObject, isPlainObject } from '../../../../core/lib/plain-object.ts'
import type { Tree } from '../contract-node.ts'

export type OpenApiVersion = '3.0' | '3.1' | '3.2'

interface UpgradedSchema {
  readonly schema: Tree
  /** What cannot be said in 3.1, or was without effect in 3.0 already. */
  readonly lost: readonly string[]
}

/** Writes one schema, without those inside it, as OpenAPI 3.1 does. */
export const toSchemaOf31 = (given: Tree, version: OpenApiVersion): UpgradedSchema => {
  if (version === '3.0') return upgradeSchema(given)
  return { schema: version === '3.2' ? withoutNewAnnotations(given) : given, lost: [] }
}

// They check nothing.
const withoutNewAnnotations = (given: Tree): Tree => {
  const { defaultMapping: _, ...discriminator } = asPlainObject(given.discriminator)
  const { nodeType: __, ...xml } = asPlainObject(given.xml)
  return {
    ...given,
    ...(isPlainObject(given.discriminator) && { discriminator }),
    ...(isPlainObject(given.xml) && { xml }),
  }
}

/** Upgrades a schema from OpenAPI 3.0 (§4.7.24 there) to JSON Schema 2020-12. */
const upgradeSchema = (given: Tree): UpgradedSchema => {
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
