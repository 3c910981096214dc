import type { Source } from './document.ts'
import { type Environment, substitute } from './environment.ts'
import type { Placed } from './problem.ts'
import { maxAliases, tooManyAliases } from './syntax.ts'

/** Is what a text says, as plain values, and what is wrong with how it says it. */
export interface Tree {
  /** Undefined: it says nothing that can be relied on. */
  readonly tree: unknown
  readonly findings: readonly Placed[]
}

/** Fills in the environment and turns a document into plain values. */
export const treeOf = (source: Source, environment: Environment): Tree => {
  if (!source.usable) return { tree: undefined, findings: source.findings }
  const findings: readonly Placed[] = [...source.findings, ...substitute(source.document, environment)]
  try {
    // The parser counts the anchor as well.
    return { tree: source.document.toJS({ maxAliasCount: maxAliases + 1 }), findings }
  } catch {
    // Its aliases unfold into too much or into nothing.
    return { tree: undefined, findings: findings.length === 0 ? [{ path: [], ...tooManyAliases }] : findings }
  }
}
