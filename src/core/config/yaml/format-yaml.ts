import { Document, visit } from 'yaml'
import { escapeQuotedControls, quotableControls } from '../../lib/text/escape-controls.ts'

const options = { aliasDuplicateObjects: false, compat: 'yaml-1.1', lineWidth: 120 } as const

/**
 * Formats plain data as YAML 1.2. What YAML 1.1 would read differently (`no`, `1:30`) is quoted for its readers, and
 * what would control a terminal is escaped.
 */
export const formatYaml = (value: unknown): string => {
  const document = new Document(value, options)
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && quotableControls.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return escapeQuotedControls(document.toString(options))
}
