import { isDeepStrictEqual } from 'node:util'
import { asNode, memberOf, type OpenApiNode } from './openapi-node.ts'

type ComponentKind = 'schemas' | 'responses' | 'parameters' | 'headers' | 'securitySchemes'

/** The components of a document: those of a contract under their own names, and the gateway's, which give way. */
export interface ComponentRegistry {
  /**
   * Adds a component, and returns its name. A component that is there already is the same one; another with its name
   * gets `variant` behind it, or else a number.
   */
  add(kind: ComponentKind, name: string, value: OpenApiNode, variant?: string): string
  /** Adds a component as {@link ComponentRegistry.add} does, and returns the reference to it. */
  refer(kind: ComponentKind, name: string, value: OpenApiNode, variant?: string): { readonly $ref: string }
  /** Lists all components, those of the contract first. */
  all(): OpenApiNode
}

/** Creates a registry that holds the components of a contract, which keep their names. */
export const createComponentRegistry = (contractComponents: OpenApiNode): ComponentRegistry => {
  const own = new Map<ComponentKind, Map<string, OpenApiNode>>()

  const add: ComponentRegistry['add'] = (kind, name, value, variant) => {
    const registered = own.get(kind) ?? new Map<string, OpenApiNode>()
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
    refer: (kind, name, value, variant) => ({ $ref: `#/components/${kind}/${add(kind, name, value, variant)}` }),
    all: () => ({
      ...contractComponents,
      ...Object.fromEntries(
        [...own].map(([kind, registered]) => [
          kind,
          { ...asNode(contractComponents[kind]), ...Object.fromEntries(registered) },
        ]),
      ),
    }),
  }
}

/** Lists names until one is free. */
function* candidateNames(name: string, variant: string | undefined): Generator<string, void> {
  yield name
  if (variant !== undefined) yield `${name}.${variant}`
  for (let number = 2; ; number++) yield `${name}-${number}`
}
