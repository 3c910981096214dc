/** Finds what can be changed in a source so that a test should fail, and writes sources that hold such changes. */
import { parseAst } from 'vitest/node'

export interface Mutant {
  readonly start: number
  readonly end: number
  /** Writes the change, from the texts of the node's parts. */
  write(textOf: (node: Node) => string): string
  readonly what: string
  readonly isStatement?: boolean
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** Types hold no behavior. Keys and names of modules are no values. */
const skipped = (node: Node, member: string): boolean =>
  member === 'typeAnnotation' ||
  member === 'typeArguments' ||
  member === 'typeParameters' ||
  member === 'returnType' ||
  member === 'source' ||
  (member === 'key' && node.computed !== true)

const isTypeOnly = ({ type }: Node): boolean =>
  type.startsWith('TS') && !['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'].includes(type)

const literal = (value: unknown): string | null => {
  if (typeof value === 'boolean') return `${!value}`
  if (typeof value === 'number') return `${value + 1}`
  if (typeof value === 'string') return value === '' ? "'mutated'" : "''"
  return null
}

const mutantsOf = (node: Node): readonly Mutant[] => {
  const { type, start, end } = node
  if (type === 'BinaryExpression' || type === 'LogicalExpression') {
    const [left, right, operator] = [node.left as Node, node.right as Node, String(node.operator)]
    const other = swapped[operator]
    if (other === undefined) return []
    return [{ start, end, what: `${operator} → ${other}`, write: (of) => `(${of(left)}) ${other} (${of(right)})` }]
  }
  if (type === 'ConditionalExpression') {
    const [test, yes, no] = [node.test as Node, node.consequent as Node, node.alternate as Node]
    return [{ start, end, what: 'branches exchanged', write: (of) => `(${of(test)}) ? (${of(no)}) : (${of(yes)})` }]
  }
  if (type === 'IfStatement' || type === 'WhileStatement') {
    const test = node.test as Node
    return [{ start: test.start, end: test.end, what: 'condition negated', write: (of) => `!(${of(test)})` }]
  }
  if (type === 'UnaryExpression' && node.operator === '!') {
    const argument = node.argument as Node
    return [{ start, end, what: 'no longer negated', write: (of) => `!!(${of(argument)})` }]
  }
  if (type === 'ExpressionStatement' && node.directive == null)
    return [{ start, end, what: 'statement left out', write: () => '', isStatement: true }]
  const changed = type === 'Literal' ? literal(node.value) : null
  return changed === null ? [] : [{ start, end, what: `literal → ${changed}`, write: () => changed }]
}

/** Lists the mutants of a source of TypeScript, in the order of their places. */
export const findMutants = (source: string): readonly Mutant[] => {
  const found: Mutant[] = []
  const visit = (node: Node): void => {
    if (isTypeOnly(node) || node.type === 'ImportDeclaration') return
    found.push(...mutantsOf(node))
    for (const [member, value] of Object.entries(node)) {
      if (skipped(node, member)) continue
      for (const each of [value].flat()) if (isNode(each)) visit(each)
    }
  }
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node)
  return found
}

/** Returns the source with all these mutants in it, each in effect where `globalThis.mutant?.(id)` says so. */
export const writeMutants = (source: string, mutants: readonly (Mutant & { readonly id: number })[]): string => {
  // Outer ones first, so that the text of a part holds the mutants inside it.
  const render = (start: number, end: number, among: readonly (Mutant & { readonly id: number })[]): string => {
    let text = ''
    let at = start
    for (const mutant of among) {
      if (mutant.start < at) continue
      const within = among.filter((each) => each !== mutant && each.start >= mutant.start && each.end <= mutant.end)
      const original = render(mutant.start, mutant.end, within)
      const textOf = (node: Node): string =>
        render(
          node.start,
          node.end,
          within.filter((each) => each.start >= node.start && each.end <= node.end),
        )
      const changed = mutant.write(textOf)
      text += source.slice(at, mutant.start)
      text += mutant.isStatement
        ? `if (globalThis.mutant?.(${mutant.id})) {${changed}} else {${original}}`
        : `(globalThis.mutant?.(${mutant.id}) ? (${changed}) : (${original}))`
      at = mutant.end
    }
    return text + source.slice(at, end)
  }
  return render(
    0,
    source.length,
    mutants.toSorted((a, b) => a.start - b.start || b.end - a.end),
  )
}
