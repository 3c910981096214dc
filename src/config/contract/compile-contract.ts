import { Ajv2020 } from 'ajv/dist/2020.js'
import standaloneCode from 'ajv/dist/standalone/index.js'
import addFormats from 'ajv-formats'
import type { CompiledContract, SchemaName } from '../../contract/compiled-contract.ts'
import { linearRegExp } from '../../contract/linear-regexp.ts'
import { linearRegExpModule } from '../../contract/validators.ts'

/** The address of the schemas that others refer to: `${sharedSchemas}#/$defs/NAME`. */
export const sharedSchemas = 'contract:///shared'

// Words of OpenAPI that may stand in a schema and check nothing (OpenAPI 3.1 §4.8.24).
const annotations = ['discriminator', 'xml', 'externalDocs', 'example']

/**
 * Compiles schemas to code. They may refer to each other through `shared`. Ajv neither converts a value nor fills in a
 * default nor removes a member: what is checked is what was sent. Throws Ajv's Error for a schema that is invalid.
 */
export const compileSchemas = (
  schemas: Readonly<Record<SchemaName, object | boolean>>,
  shared: Readonly<Record<string, unknown>> = {},
): Pick<CompiledContract, 'code' | 'detailedCode'> => ({
  code: compileCode(schemas, shared, false),
  detailedCode: compileCode(schemas, shared, true),
})

const compileCode = (
  schemas: Readonly<Record<SchemaName, object | boolean>>,
  shared: Readonly<Record<string, unknown>>,
  allErrors: boolean,
): string => {
  const ajv = createAjv(allErrors)
  ajv.addSchema({ $id: sharedSchemas, $defs: shared })
  const ids: Record<string, string> = {}
  for (const [name, schema] of Object.entries(schemas)) {
    ids[name] = `contract:///${name}`
    ajv.addSchema(schema, ids[name])
  }
  return standaloneCode.default(ajv, ids)
}

/** Creates Ajv as every schema is compiled with: JSON Schema 2020-12, strict, and linear in time. */
export const createAjv = (allErrors: boolean): Ajv2020 => {
  const ajv = new Ajv2020({
    allErrors,
    strict: true,
    strictTypes: false, // a schema may leave the type to another one beside it
    strictRequired: false, // and a required member too
    strictTuples: false,
    allowUnionTypes: true,
    validateFormats: true,
    ownProperties: true, // `toString` is no member of every object
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    $data: false,
    messages: true,
    logger: false,
    code: {
      source: true,
      regExp: Object.assign(linearRegExp, { code: `require("${linearRegExpModule}").linearRegExp` }),
    },
  })
  for (const keyword of annotations) ajv.addKeyword(keyword)
  addFormats.default(ajv)
  return ajv
}
