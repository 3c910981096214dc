import * as z from 'zod'
import { annotate, renderPlain } from './annotations.ts'
import { ExternalValue, InvalidScalar, isPlainScalar, parseScalar, type ScalarKind } from './scalar-kind.ts'

/** An issue carries `expected` and `hint` in its `params`. */
export const scalar = <T>(description: string, kind: ScalarKind<T>) => {
  const { name, expected, parse: _, render = renderPlain, json, ...annotations } = kind
  const schema = z
    .unknown()
    .transform((input, context): T => {
      const parsed = parseScalar(kind, input)
      if (!(parsed instanceof InvalidScalar)) return parsed
      // A hint may be made from the value, which is shown only when it stands in the file.
      const hint = input instanceof ExternalValue ? undefined : parsed.hint
      // `kind: true`: not a scalar, so the issue comes from another branch of a union.
      const isScalar = input instanceof ExternalValue || isPlainScalar(input)
      const params = { expected, hint, kind: !isScalar }
      context.addIssue({ code: 'custom', message: parsed.message, params })
      return z.NEVER
    })
    .meta({ description, ...(name === undefined ? allowPlaceholder(json) : referenceDefinition(name, json)) })
  return annotate(schema, { ...annotations, render })
}

export const sharedDefinitions = new Map<string, ScalarKind<unknown>['json']>()

const referenceDefinition = (name: string, json: ScalarKind<unknown>['json']): ScalarKind<unknown>['json'] => {
  sharedDefinitions.set(name, allowPlaceholder(json))
  return { allOf: [{ $ref: `#/definitions/${name}` }] }
}

/** An editor does not know the environment. */
function allowPlaceholder(json: ScalarKind<unknown>['json']): Readonly<Record<string, unknown>> {
  if (json.type === 'string' && json.pattern === undefined) return json
  return { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] }
}
