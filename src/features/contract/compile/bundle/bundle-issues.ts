import { explainPathMismatch, suggestNearest } from '../../../../core/config/suggest.ts'
import { ownMember } from '../../../../core/lib/plain-object.ts'
import { allOperations, type Operation } from '../../../../operations.ts'
import { type NodeIssue, wrongKey, wrongValue } from '../contract-node.ts'
import { jsonSchemaDialect, rejectedKeywords, schemaKeywords } from '../schema-keywords.ts'
import type { ObjectShape } from './object-shapes.ts'
import type { OpenApiVersion } from './upgrade-schema.ts'

export const otherForm = (name: string | null, expected: string, value: unknown): NodeIssue =>
  wrongValue(name === null ? 'this has the wrong form' : `this is not ${name}`, expected, value)

export const otherReference = (value: unknown): NodeIssue =>
  wrongValue(
    'the reference is no text',
    "one such as '#/components/schemas/Asset'",
    value,
    value === null ? 'put it in quotes: in YAML, # begins a comment' : 'write the path to one object',
  )

export const otherTarget = (shape: ObjectShape, found: ObjectShape): NodeIssue => ({
  message: 'the reference leads to something else',
  expected: shape.name,
  found: found.name,
  hint: shape.section === null ? undefined : `refer to #/components/${shape.section}/…`,
})

export const besideReference = (key: string): NodeIssue => ({
  message: 'this does nothing: it stands beside a $ref',
  expected: '$ref alone',
  found: key,
  atKey: true,
  hint: 'move it to where the reference leads',
})

export const circle = (shape: ObjectShape): NodeIssue => ({
  message: 'the references lead in a circle',
  expected: `${shape.name} at the end`,
  found: 'none',
  hint: 'write the object out in one of the places',
})

export const ignored = (name: string, why: string): NodeIssue => ({
  message: `this does nothing: ${why}`,
  expected: `no ${name}`,
  found: name,
  atKey: true,
})

export const findPath = (path: string): { readonly operation: Operation | null; readonly issue: NodeIssue | null } => {
  const known = allOperations.find((each) => each.path === path)
  if (known !== undefined) return { operation: known, issue: null }
  const { meant } = explainPathMismatch(path, { basePath: '', baseKey: '' })
  const expected = meant?.path ?? 'one of the nine, such as /valuation/score'
  const hint = meant === null ? 'remove it: the gateway forwards nothing there' : `did you mean ${meant.path}?`
  return { operation: meant, issue: wrongKey('the path is not one of the nine', expected, path, hint) }
}

export const otherMethod = ({ path, method: own }: Operation, method: string): NodeIssue => ({
  message: `${path} has no ${method.toUpperCase()}`,
  expected: own.toLowerCase(),
  found: method,
  hint: `the operation is ${own} ${path}`,
  atKey: true,
})

export const lostInUpgrade = (what: string): NodeIssue => ({
  message: `this does nothing in OpenAPI 3.0: ${what}`,
  expected: 'a document of OpenAPI 3.1',
  found: what,
})

export const otherDialect = (dialect: unknown): NodeIssue =>
  wrongValue('the schema is of another dialect', jsonSchemaDialect, dialect)

export const unknownMember = (name: string, shape: ObjectShape, version: OpenApiVersion): NodeIssue => {
  const known = Object.entries(shape.members).filter(
    ([, { kind, isNew }]) => kind !== 'rejected' && !(isNew && version !== '3.2'),
  )
  return unknownName(
    name,
    known.map(([each]) => each),
    `unknown in ${shape.name}`,
  )
}

const anyName = 'a known name, or one that begins with x-'

const unknownName = (name: string, known: readonly string[], message: string): NodeIssue => {
  const near = suggestNearest(name, known)
  const hint = near === undefined ? 'remove it, or let its name begin with x-' : `did you mean ${near}?`
  return wrongKey(message, near ?? anyName, name, hint)
}

export const newName = (name: string, shape: ObjectShape): NodeIssue =>
  wrongKey(
    `unknown in ${shape.name}`,
    'a name of the version that the document states',
    name,
    'OpenAPI 3.2 has it: write openapi: 3.2.0',
  )

/** Without this name, the document would mean something else. */
export const rejectedName = (name: string, shape: ObjectShape, hint: string): NodeIssue =>
  wrongKey(`the gateway does not read this in ${shape.name}`, `no ${name}`, name, hint)

export const unknownKeyword = (name: string): NodeIssue => {
  const remedy = ownMember(rejectedKeywords, name)
  return remedy === undefined
    ? unknownName(name, Object.keys(schemaKeywords), 'unknown keyword')
    : wrongKey('a keyword that is not supported', anyName, name, remedy)
}
