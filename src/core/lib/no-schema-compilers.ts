const unused = (): never => {
  throw new Error('no route has a schema')
}

/** No route has a schema; Fastify would load a hundred files of ajv and fast-json-stringify. */
export const noSchemaCompilers = { compilersFactory: { buildValidator: unused, buildSerializer: unused } }
