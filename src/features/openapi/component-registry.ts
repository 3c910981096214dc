import { isDeepStrictEqual } from 'node:util'
import { asPlainObject, isPlainObject, ownMember, type PlainObject } from '../../core/lib/plain-object.ts'

export const memberOf = (node: unknown, name: string): unknown =>
  isPlainObject(node) ? ownMember(node, name) : undefined

export const withoutMembers = (node: PlainObject, names: readonly string[]): PlainObject =>
  Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))

type ComponentKind = 'schemas' | 'responses' | 'parameters' | 'headers' | 'securitySchemes'

export type ComponentRegistry = ReturnType<typeof createComponentRegistry>

/** A contract's components keep their names; the gateway's give way. */
export const createComponentRegistry = (contractComponents: PlainObject) => {
  const own = new Map<ComponentKind, Map<string, PlainObject>>()

  /** A different component of that name gets the suffix `variant`, or a number. */
  const add = (kind: ComponentKind, name: string, value: PlainObject, variant?: string): string => {
    const registered = own.get(kind) ?? new Map<string, PlainObject>()
    own.set(kind, registered)
    for (const candidate of candidateNames(name, variant)) {
      const before = registered.get(candidate)
      if (before !== undefined && isDeepStrictEqual(before, value)) return candidate
      if (before !== undefined || memberOf(contractComponents[kind], candidate) !== undefined) continue
      registered.set(candidate, value)
      return candidate
    }
    throw new Error('there is no end of names')
  }

  return {
    add,
    refer: (...component: Parameters<typeof add>) => ({ $ref: `#/components/${component[0]}/${add(...component)}` }),
    all(): PlainObject {
      const merged = [...own].map(([kind, registered]) => [
        kind,
        { ...asPlainObject(contractComponents[kind]), ...Object.fromEntries(registered) },
      ])
      return { ...contractComponents, ...Object.fromEntries(merged) }
    },
  }
}

function* candidateNames(name: string, variant: string | undefined): Generator<string, void> {
  yield name
  if (variant !== undefined) yield `${name}.${variant}`
  for (let number = 2; ; number++) yield `${name}-${number}`
}
