const unused = (): never => {
  throw new Error('no route has a schema')
}

/**
 * The compilers of Fastify's schemas. No route has a schema, and Fastify loads its own compilers, a hundred files of
 * ajv and fast-json-stringify, unless it is given others.
 */
export const noSchemaCompilers = { compilersFactory: { buildValidator: unused, buildSerializer: unused } }
