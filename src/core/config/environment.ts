// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { type Document, isScalar } from 'yaml'
import { ownMember } from '../lib/plain-object.ts'
import type { ConfigIssue } from './problem.ts'
import { ExternalValue } from './schema/scalar-kind.ts'
import { forEachNode } from './yaml/yaml-nodes.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces `${NAME}` and `${NAME:-default}` in scalar values, never in keys. Runs after YAML is parsed, so a variable
 * cannot inject YAML. As in a shell, `:-` also replaces an empty variable. `$${` is a literal `${`.
 */
export function substituteVariables(document: Document, environment: Environment): ConfigIssue[] {
  const issues: ConfigIssue[] = []
  forEachNode(document, (node, context) => {
    if (context.isKey || !isScalar(node) || typeof node.value !== 'string' || !node.value.includes('${')) return
    const path = [...context.path]
    const source = node.value
    const { text, isReplaced, missing } = fillPlaceholders(source, environment)
    for (const name of missing) issues.push({ path, ...unsetVariable(name) })
    if (source.replaceAll(placeholder, '').includes('${')) issues.push({ path, ...malformedPlaceholder })
    node.value = isReplaced ? new ExternalValue(text, source, onlyPlaceholder.test(source)) : text
  })
  return issues
}

// A default has at most 1,024 characters: matching many unclosed `${` would otherwise take quadratic time.
const placeholder = /\$(\$\{)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1024}))?\}/g
const onlyPlaceholder = /^\$\{[^}]*\}$/

/** `isReplaced` is false for escapes alone. */
function fillPlaceholders(source: string, environment: Environment) {
  let isReplaced = false
  const missing: string[] = []
  const text = source.replaceAll(placeholder, (_match, escaped, name, fallback) => {
    if (escaped !== undefined) return '${'
    isReplaced = true
    const value = ownMember(environment, name)
    if (fallback !== undefined && (value === undefined || value === '')) return fallback
    if (value === undefined) missing.push(name)
    return value ?? ''
  })
  return { text, isReplaced, missing }
}

const unsetVariable = (name: string): Omit<ConfigIssue, 'path'> => ({
  message: `the environment variable ${name} is not set`,
  expected: 'a variable that is set, or a default',
  found: 'neither',
  hint: `set ${name}, or write \${${name}:-default}`,
})

const malformedPlaceholder: Omit<ConfigIssue, 'path'> = {
  message: 'an unknown placeholder',
  expected: '${NAME} or ${NAME:-default}',
  found: '${ followed by something else',
  hint: 'write $${ for a literal ${',
}
