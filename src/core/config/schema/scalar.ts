import * as z from 'zod'
import { annotate, renderPlain } from './annotations.ts'
import { ExternalValue, InvalidScalar, isPlainScalar, parseScalar, type ScalarKind } from './scalar-kind.ts'

export const scalar = <T>(description: string, kind: ScalarKind<T>) => {
  const { name, expected, parse: _, render = renderPlain, json, ...annotations } = kind
  const schema = z
    .unknown()
    .transform((input, context): T => {
      const parsed = parseScalar(kind, input)
      if (!(parsed instanceof InvalidScalar)) return parsed
      // A hint may quote the value, so a value from outside the file gets no hint.
      const hint = input instanceof ExternalValue ? undefined : parsed.hint
      // `kind: true`: the value is no scalar, so another branch of a union reports it.
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

function allowPlaceholder(json: ScalarKind<unknown>['json']): Readonly<Record<string, unknown>> {
  if (json.type === 'string' && json.pattern === undefined) return json
  return { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] }
}
