// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these

import { Document, isCollection, isScalar, parseDocument, visit } from 'yaml'
import { escapeQuotedControls, quotableControls } from '../../lib/text/escape-controls.ts'
import { type Environment, substituteVariables } from '../environment.ts'
import type { FilePosition, KeyPath, LocatableIssue } from '../problem.ts'
import { findSyntaxIssues, maxAliases, tooManyAliases } from './syntax-issues.ts'
import { createPositionFinder, findOffset, forEachNode, hasPath } from './yaml-nodes.ts'

export type YamlSource = ReturnType<typeof parseYamlSource>

// `uniqueKeys` compares each key with every other key; `findSyntaxIssues` finds duplicates in linear time.
const parserOptions = { prettyErrors: false, stringKeys: true, uniqueKeys: false, version: '1.2' } as const

/** Never throws or quotes the text. `usable` false: the tree is not reliable. */
export function parseYamlSource(text: string) {
  const isMasked = text.includes('${') && !text.includes(opening) && !text.includes(closing)
  const document = parseDocument(isMasked ? maskPlaceholders(text) : text, parserOptions)
  const unquotedPlaceholders = isMasked ? unmaskPlaceholders(document) : []
  const at = createPositionFinder(text)
  const locate = (path: KeyPath, atKey = false): FilePosition => at(findOffset(document, path, atKey))
  const locateStated = (path: KeyPath): FilePosition | undefined => (hasPath(document, path) ? locate(path) : undefined)
  const { issues, usable } = findSyntaxIssues(document, text, at)
  return { document, issues: [...unquotedPlaceholders, ...issues], usable, at, locate, locateStated }
}

export const toPlainTree = (source: YamlSource, environment: Environment) => {
  if (!source.usable) return { tree: undefined, issues: source.issues }
  const issues: readonly LocatableIssue[] = [...source.issues, ...substituteVariables(source.document, environment)]
  try {
    const tree: unknown = source.document.toJS({ maxAliasCount: maxAliases + 1 })
    return { tree, issues }
  } catch {
    // The aliases unfold into too much, or into nothing.
    return { tree: undefined, issues: issues.length === 0 ? [{ path: [], ...tooManyAliases }] : issues }
  }
}

// In { } or [ ] the parser reads a placeholder's brace as YAML. During parsing, private-use characters of the same
// length replace it, unless the text has such a character.
const [opening, closing] = ['\ue000', '\ue001']

const maskPlaceholders = (text: string): string => text.replaceAll(/\$\{([^{}"'\r\n]*)\}/g, `$$${opening}$1${closing}`)

const unmask = (text: string): string => text.replaceAll(opening, '{').replaceAll(closing, '}')

/** Reports placeholders that mislead the parser. They stay masked, so that they cause no further issues. */
const unmaskPlaceholders = (document: Document): readonly LocatableIssue[] => {
  const issues: LocatableIssue[] = []
  forEachNode(document, (node, { path, parents, isKey }) => {
    if (node.comment) node.comment = unmask(node.comment)
    if (node.commentBefore) node.commentBefore = unmask(node.commentBefore)
    if (!isScalar(node) || typeof node.value !== 'string' || !node.value.includes(opening)) return
    const enclosing = parents.at(-1)
    if (node.type !== 'PLAIN' || !isCollection(enclosing) || enclosing.flow !== true) {
      node.value = unmask(node.value)
      return
    }
    issues.push({
      path: isKey ? path.slice(0, -1) : [...path],
      offset: node.range?.[0] ?? 0,
      message: 'a placeholder in { } or [ ] without quotes',
      expected: 'a quoted placeholder',
      found: 'an unquoted ${',
      hint: 'quote it, "${NAME}", or use a list with dashes',
    })
  })
  return issues
}

const options = { aliasDuplicateObjects: false, compat: 'yaml-1.1', lineWidth: 120 } as const

/** Quotes text that YAML 1.1 reads differently (`no`, `1:30`), and escapes terminal controls. */
export const formatYaml = (value: unknown): string => {
  const document = new Document(value, options)
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && quotableControls.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return escapeQuotedControls(document.toString(options))
}
