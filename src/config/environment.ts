// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { type Document, isScalar } from 'yaml'
import { eachNode } from './nodes.ts'
import type { Finding } from './problem.ts'
import { External } from './schema/scalar.ts'

/** Maps the names of variables to their values, as `process.env` does. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every scalar that is a value, never in a key. It runs after parsing, so positions stay
 * and a variable cannot inject YAML. As in a shell, `:-` also replaces an empty variable. `$${` is a literal `${`.
 */
export function substitute(document: Document, environment: Environment): Finding[] {
  const findings: Finding[] = []
  eachNode(document, (node, standing) => {
    if (standing.isKey || !isScalar(node) || typeof node.value !== 'string' || !node.value.includes('${')) return
    const path = [...standing.path]
    const source = node.value
    const { text, used, missing } = fill(source, environment)
    for (const name of missing) findings.push({ path, ...notSet(name) })
    if (source.replaceAll(placeholder, '').includes('${')) findings.push({ path, ...notUnderstood })
    node.value = used ? new External(text, source, single.test(source)) : text
  })
  return findings
}

// A default is bounded, so that many openings without an end do not take quadratic time.
const placeholder = /\$(\$\{)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1024}))?\}/g
const single = /^\$\{[^}]*\}$/

interface Filled {
  readonly text: string
  /** Whether anything but an escape was replaced. */
  readonly used: boolean
  readonly missing: readonly string[]
}

function fill(source: string, environment: Environment): Filled {
  let used = false
  const missing: string[] = []
  const text = source.replaceAll(placeholder, (_match, escaped, name, fallback) => {
    if (escaped !== undefined) return '${'
    used = true
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    if (fallback !== undefined && (value === undefined || value === '')) return fallback
    if (value === undefined) missing.push(name)
    return value ?? ''
  })
  return { text, used, missing }
}

const notSet = (name: string): Omit<Finding, 'path'> => ({
  message: `the environment variable ${name} is not set`,
  expected: 'a variable that is set, or a default',
  found: 'neither',
  hint: `set ${name}, or write \${${name}:-default}`,
})

const notUnderstood: Omit<Finding, 'path'> = {
  message: 'a placeholder that is not understood',
  expected: '${NAME} or ${NAME:-default}',
  found: '${ and something else',
  hint: 'write $${ for a literal ${',
}
